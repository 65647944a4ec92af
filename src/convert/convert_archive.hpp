#pragma once

#include <filesystem>

#include "sframe_gen/convert.hpp"

namespace sframe_gen::convert {

/// Converts what members of an archive can be converted, and leaves the others alone: text, bitcode, objects without
/// call frame information. Of a regular archive `output` is replaced atomically; of a thin one the files that it names,
/// one after the other and last its own. Throws Failure: a damaged member, which it names, fails the archive, and
/// nothing is written.
Archive convert_archive(const std::filesystem::path& input, const std::filesystem::path& output,
                        const ConvertOptions& options, const Observer& observer);

}  // namespace sframe_gen::convert
