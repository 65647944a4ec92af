#pragma once

#include <filesystem>
#include <optional>

#include "elf/image.hpp"
#include "sframe_gen/convert_options.hpp"

namespace sframe_gen::convert {

/// Opens the separate debug file `path` of `image`. Throws Refused when their code is not at the same addresses,
/// or when their build-ids differ or one has none, unless `ignore_build_id`.
elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id);

/// Opens the one that the options name, if they name one.
std::optional<elf::Image> open_debug_file(const elf::Image& image, const ConvertOptions& options);

}  // namespace sframe_gen::convert
