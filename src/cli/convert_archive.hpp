#pragma once

#include <filesystem>
#include <functional>

#include "cli/archive_report.hpp"
#include "cli/options.hpp"

namespace sframe_gen::cli {

/// Called with members done and members in all.
using ShowMember = std::function<void(std::uint64_t, std::uint64_t)>;

/// Converts the members of an archive that can be, and leaves the others as they are: text, bitcode, objects without
/// call frame information. Of a regular archive the file is replaced atomically, or `options.output` written; of a thin
/// one the files that it names, one after the other and last its own. Throws Failure: a damaged member, which it names,
/// fails the archive, and nothing is written.
ArchiveReport convert_archive(const Options& options, const std::filesystem::path& file, const ShowMember& show);

}  // namespace sframe_gen::cli
