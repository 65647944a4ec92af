#pragma once

#include <cstdint>
#include <filesystem>

namespace sframe_gen::convert {

/// What a file says in its first bytes that it is.
enum class FileKind : std::uint8_t { Elf, Archive, Other };

/// Other, too, for what is no regular file or cannot be read.
FileKind kind_of(const std::filesystem::path& file);

}  // namespace sframe_gen::convert
