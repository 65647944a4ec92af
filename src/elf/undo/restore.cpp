#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "elf/records.hpp"
#include "elf/undo/undo.hpp"
#include "elf/undo/undo_record.hpp"
#include "files/atomic_file.hpp"
#include "files/regions.hpp"
#include "support/bytes.hpp"
#include "support/hash.hpp"

namespace sframe_gen::elf {

namespace {

/// Returns the section of the record, if it is where it was written: after all others, at the end of the file.
const Section* find_record(const Image& converted, const NewSection& added) {
  const Section* const section = converted.find_section(added.undo_name);
  if (section == nullptr || converted.find_section(added.name) == nullptr)
    throw Refused(converted.name(), "has no " + std::string(added.name) + " section that sframe-gen made");
  // Then elf/headerless has found it at the end.
  if (!converted.has_section_headers()) return section;
  const std::uint64_t table_end = converted.section_table().end;
  const bool is_last = section == &converted.sections().back() && section->header.sh_type == SHT_PROGBITS &&
                       section->header.sh_offset == table_end &&
                       converted.file_bytes().size() - table_end == section->header.sh_size;
  return is_last ? section : nullptr;
}

std::optional<DecodedUndo> read_record(const Image& converted, const NewSection& added) {
  const Section* const section = find_record(converted, added);
  if (section == nullptr) return {};
  const auto headers =
      converted.slice(0, sizeof(Elf64_Ehdr) + converted.segments().size() * sizeof(Elf64_Phdr), "program headers");
  const Origin origin{converted.name(), section->name};
  if (!converted.has_section_headers())
    return decode_undo(without_trailer(converted.bytes_of(*section), added), undo_dictionary(headers, {}, {}), origin);
  const Range table = converted.section_table();
  const auto dictionary =
      undo_dictionary(headers, converted.bytes_of(converted.sections()[converted.section_name_table_index()]),
                      converted.slice(table.begin, table.size(), "section headers"));
  return decode_undo(converted.bytes_of(*section), dictionary, origin);
}

/// Returns the original but for section indices and corrections. Nothing where the record does not fit the file.
std::optional<files::Regions> assemble(const UndoRecord& record, std::uint64_t converted_size) {
  files::Regions original;
  auto literals = record.literals.begin();
  std::uint64_t copied = 0;
  for (const UndoPiece& piece : record.pieces) {
    if (piece.from > converted_size || piece.size > converted_size - piece.from) return {};
    // Each byte was copied once: a record cannot ask for more than the disk has.
    copied += piece.size;
    if (copied > converted_size) return {};
    const auto end = literals + static_cast<std::ptrdiff_t>(piece.literals);
    original.put_bytes(original.size(), {literals, end});
    original.put_input(original.size(), piece.from, piece.size);
    literals = end;
  }
  for (const UndoCorrection& correction : record.corrections)
    if (correction.offset > original.size() || correction.bytes.size() > original.size() - correction.offset) return {};
  return original;
}

/// Returns the bytes that are wrong in the assembled original, with holes between them.
files::Regions corrections_of(const Image& assembled, const UndoRecord& record) {
  files::Regions corrections;
  for (const Section& section : assembled.sections()) {
    if (!has_section_indices(section.header.sh_type)) continue;
    const auto bytes = assembled.bytes_of(section);
    std::vector<std::byte> restored(bytes.begin(), bytes.end());
    restore_section_indices(restored, section.header.sh_type, assembled.endian(), record.new_index_of);
    if (!equal_bytes(bytes, restored)) corrections.put_bytes(section.header.sh_offset, std::move(restored));
  }
  for (const UndoCorrection& correction : record.corrections)
    corrections.put_bytes(correction.offset, correction.bytes);
  return corrections;
}

Digest digest_of_both(const Image& original, const Image& converted, const UndoRecord& record) {
  Digester digester;
  digester.update(original.file_bytes());
  const std::uint64_t end = converted.sections().back().header.sh_offset;
  for (const Range& range : uncopied(record.pieces, end))
    digester.update(converted.slice(range.begin, range.size(), "rest"));
  return digester.digest();
}

std::optional<std::uint64_t> try_restoring(const Image& converted, const NewSection& added, int output,
                                           const std::string& output_name) {
  const auto undo = read_record(converted, added);
  if (!undo) return {};
  const auto contents = assemble(undo->record, converted.file_bytes().size());
  if (!contents) return {};
  files::write_regions(*contents, converted.file(), output, output_name);
  const Image original = Image::open(output, converted.name());
  const files::Regions corrections = corrections_of(original, undo->record);
  std::vector<files::Region> corrected = corrections.all();
  std::erase_if(corrected, [](const files::Region& region) { return region.source == files::Region::Source::Hole; });
  files::RegionWriter(converted.file(), output, output_name).write(corrected);
  if (digest_of_both(original, converted, undo->record) != undo->digest) return {};
  return contents->size();
}

}  // namespace

std::uint64_t restore_original(const Image& converted, const NewSection& added, int output,
                               const std::string& output_name) {
  std::optional<std::uint64_t> restored;
  try {
    restored = try_restoring(converted, added, output, output_name);
  } catch (const MalformedInput&) {
    // A damaged record, or one that makes something else than an ELF file.
  }
  if (!restored)
    throw Refused(converted.name(), "has been changed since it was converted, and cannot be given back as it was");
  return *restored;
}

std::uint64_t original_size(const Image& converted, const NewSection& added) {
  const Descriptor file = files::open_unnamed(std::filesystem::path(converted.name()).parent_path());
  return restore_original(converted, added, file.number(), converted.name());
}

std::optional<Image> find_original(const Image& image, const NewSection& added, const std::filesystem::path& folder) {
  if (image.find_section(added.undo_name) == nullptr) return {};
  const Descriptor file = files::open_unnamed(folder);
  try {
    restore_original(image, added, file.number(), image.name());
  } catch (const Refused&) {
    return {};
  }
  return Image::open(file.number(), image.name());
}

}  // namespace sframe_gen::elf
