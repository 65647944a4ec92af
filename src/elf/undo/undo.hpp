#pragma once

#include <functional>

#include "elf/edit/file_image.hpp"
#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "elf/undo/undo_format.hpp"
#include "support/digest.hpp"

namespace sframe_gen::elf {

/// What gives back `input`, once `contents` is written.
UndoRecord make_undo(const Image& input, const Layout& layout, const FileImage& contents);

/// Puts that at the end of `contents`, into the section that the layout has for it. `original` gives what has seen the
/// bytes of `input`; it may have to wait for it, and is called when all else is done. To be called when `contents` is
/// complete otherwise.
void append_undo(const Image& input, const Layout& layout, const std::function<Digester()>& original,
                 FileImage& contents);

/// What a converted file says in its headers: most of what they said before.
class UndoDictionary {
 public:
  /// `section_table` ends with the header of the record's own section, which does not count.
  UndoDictionary(std::span<const std::byte> headers, std::span<const std::byte> section_names,
                 std::span<const std::byte> section_table);
  /// Of a file without section headers.
  explicit UndoDictionary(std::span<const std::byte> headers);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The parts of [0, size) of the converted file that no piece copies.
std::vector<FileRange> uncopied(const std::vector<UndoPiece>& pieces, std::uint64_t size);

}  // namespace sframe_gen::elf
