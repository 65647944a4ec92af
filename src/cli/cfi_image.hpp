#pragma once

#include <filesystem>

#include "elf/image.hpp"

namespace sframe_gen::cli {

/// Opens the separate debug file `path` of `image`. Throws Refused when their code is not at the same addresses,
/// or when their build-ids differ or one has none, unless `ignore_build_id`.
elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id);

}  // namespace sframe_gen::cli
