#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

namespace sframe_gen::convert {

/// What a file says in its first bytes that it is.
enum class FileKind : std::uint8_t { Elf, Archive, Other };

/// Other, too, for what is no regular file or cannot be read.
FileKind kind_of(const std::filesystem::path& file);
/// As above, and sets `error` if it cannot be read.
FileKind kind_of(const std::filesystem::path& file, std::error_code& error);

/// Whether it is an archive whose members are files of their own.
bool is_thin_archive(const std::filesystem::path& file);

/// e_type of an ELF file's header (ET_EXEC, ET_REL, …), of whatever class and machine. None if the file ends in its
/// header.
std::optional<std::uint16_t> type_of(const std::filesystem::path& file);

/// Whether it is an object with a section .modinfo, which all kernel modules have. A damaged file is none.
bool is_kernel_module(const std::filesystem::path& file);

}  // namespace sframe_gen::convert
