#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "elf/edit/file_image.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "elf/plan/layout.hpp"
#include "elf/records.hpp"
#include "elf/undo/undo_format.hpp"
#include "support/digest.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

/// Whether sections of this type hold indices of other sections: symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP.
bool has_section_indices(std::uint32_t section_type);

/// Takes the renumbering of the sections back in the bytes of one such table. `new_index_of`: by the index to be
/// restored. Indices that none of these became stay.
void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of);

/// Writes what `converted` was made from when it got `added` to `output`, an empty file. Throws Refused when
/// `converted` is no file that sframe-gen wrote, or not as it wrote it; nothing is left out of that comparison.
/// `output` is then in no defined state. Returns the size. Throws SystemFailure as well.
std::uint64_t restore_original(const Image& converted, const NewSection& added, int output,
                               const std::string& output_name);

/// Does it without keeping the result.
std::uint64_t original_size(const Image& converted, const NewSection& added);

/// The file that `image` was made from when it got `added`, under the same name. Nothing if there is none to be had: it
/// was not converted, or changed since. `folder` is where the bytes go, in a file without a name.
std::optional<Image> find_original(const Image& image, const NewSection& added, const std::filesystem::path& folder);

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
