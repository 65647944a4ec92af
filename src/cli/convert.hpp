#pragma once

#include <filesystem>
#include <functional>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::cli {

/// Called with warnings that do not stop the work.
using Warn = std::function<void(const std::string&)>;

/// The whole way of one file: read, lower, encode, place, write. Throws Failure; the output is then as it was. With
/// --explain, each plan that is tried goes into `trials`, whether one works or not.
Report convert(const Options& options, const std::filesystem::path& file, const Warn& warn,
               std::vector<elf::Trial>& trials);

}  // namespace sframe_gen::cli
