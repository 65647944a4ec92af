#pragma once

#include <optional>
#include <span>
#include <vector>

#include "elf/alignment.hpp"
#include "elf/new_section.hpp"

/// A file without section headers has nothing that could name the record for undoing the conversion. There it stands at
/// the end of the file, in front of these bytes:
///
///     size        of the record, 8 bytes, the lowest first
///     name        NewSection::undo_name, without a zero
namespace sframe_gen::elf {

/// To be appended to a record of `record_size` bytes.
std::vector<std::byte> undo_trailer(std::uint64_t record_size, const NewSection& section);

/// Record and trailer, if the file ends with both.
std::optional<FileRange> find_undo_trailer(std::span<const std::byte> file, const NewSection& section);

/// The record in those bytes.
std::span<const std::byte> without_trailer(std::span<const std::byte> record, const NewSection& section);

}  // namespace sframe_gen::elf
