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
/// The same; `error` is set if it cannot be read.
FileKind kind_of(const std::filesystem::path& file, std::error_code& error);

/// Whether it is an archive whose members are files of their own.
bool is_thin_archive(const std::filesystem::path& file);

/// e_type of an ELF file's header (ET_EXEC, ET_REL, …), of whatever class and machine. None if the file ends in its
/// header.
std::optional<std::uint16_t> type_of(const std::filesystem::path& file);

/// Whether it is an object with a section .modinfo, which all kernel modules have. A damaged file is none.
bool is_kernel_module(const std::filesystem::path& file);

/// Whether a file, or a member of an archive, has a section that `remove_section` cannot take out, because there is no
/// original to go back to. A damaged file, or one that cannot be read, is none.
bool has_section_for_good(const std::filesystem::path& file);

}  // namespace sframe_gen::convert
