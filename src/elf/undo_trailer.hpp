#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/new_section.hpp"
#include "support/range.hpp"

/// How an undo record (rewrite/undo/undo_record.hpp) is found at the end of a file without section headers to name it.
/// A trailer follows the record and ends the file:
///
///     size        of the record, 8 bytes, the lowest first
///     name        NewSection::undo_name, without a zero
namespace sframe_gen::elf {

/// "SFU" and the format's number, with which an undo record begins.
inline constexpr std::array<std::byte, 4> undo_magic{std::byte{'S'}, std::byte{'F'}, std::byte{'U'}, std::byte{1}};

/// Returns the trailer after a record of `size` bytes.
std::vector<std::byte> undo_trailer(std::uint64_t size, const NewSection& section);

/// Finds record and trailer, if the file ends with both.
std::optional<Range> find_undo_trailer(std::span<const std::byte> file, const NewSection& section);

/// Returns the record alone, be there a trailer or not.
std::span<const std::byte> without_trailer(std::span<const std::byte> record, const NewSection& section);

}  // namespace sframe_gen::elf
