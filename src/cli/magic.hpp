#pragma once

#include <filesystem>

namespace sframe_gen::cli {

/// Whether it begins as an ELF file does; false if it cannot be read.
bool is_elf(const std::filesystem::path& file);

}  // namespace sframe_gen::cli
