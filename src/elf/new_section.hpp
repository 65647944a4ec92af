#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "elf/records.hpp"
#include "support/range.hpp"

/// What is added to a file, and what leads to its undo record.
namespace sframe_gen::elf {

/// What is added to a file: a loaded, read-only section and, for some, a program header that says where it is.
struct NewSection {
  std::string_view name;
  std::uint32_t type;       ///< sh_type
  std::uint64_t alignment;  ///< bytes, of its address
  std::optional<std::uint32_t> segment_type;
  std::string_view undo_name;     ///< of the section that holds the undo record (undo_record.hpp)
  bool keeps_undo_record = true;  ///< whether there is to be one
};

/// SFrame V3, section 2.
inline constexpr NewSection sframe_section{sframe_section_name, section_type_gnu_sframe, 8, segment_type_gnu_sframe,
                                           ".sframe_undo"};
/// The format that came before SFrame was never given types of its own.
inline constexpr NewSection ctf_frame_section{".ctf_frame", SHT_PROGBITS, 8, std::nullopt, ".ctf_frame_undo"};

/// "SFU" and the format's number, with which an undo record begins.
inline constexpr std::array<std::byte, 4> undo_magic{std::byte{'S'}, std::byte{'F'}, std::byte{'U'}, std::byte{1}};

/// Returns the trailer after a record of `size` bytes. So an undo record (rewrite/undo/undo_record.hpp) is found at the
/// end of a file without section headers to name it. The trailer follows the record and ends the file:
///
///     size        of the record, 8 bytes, the lowest first
///     name        NewSection::undo_name, without a zero
std::vector<std::byte> undo_trailer(std::uint64_t size, const NewSection& section);

/// Finds record and trailer, if the file ends with both.
std::optional<Range> find_undo_trailer(std::span<const std::byte> file, const NewSection& section);

/// Returns the record alone, be there a trailer or not.
std::span<const std::byte> without_trailer(std::span<const std::byte> record, const NewSection& section);

}  // namespace sframe_gen::elf
