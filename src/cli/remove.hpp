#pragma once

#include <filesystem>

#include "cli/options.hpp"
#include "cli/report.hpp"

namespace sframe_gen::cli {

/// Takes .sframe out of a converted file again. Throws Failure; the output is then as it was.
Removal remove_section(const Options& options, const std::filesystem::path& file);

}  // namespace sframe_gen::cli
