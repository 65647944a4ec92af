#include "rewrite/undo/undo.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "elf/new_section.hpp"
#include "elf/preconditions.hpp"
#include "elf/records.hpp"
#include "files/atomic_file.hpp"
#include "rewrite/edit/contents.hpp"
#include "rewrite/undo/undo_record.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::rewrite {

namespace {

using files::Region;

bool in_index_table(const elf::Image& input, Range range) {
  return std::ranges::any_of(input.sections(), [&](const elf::Section& section) {
    const Elf64_Shdr& header = section.header;
    return has_section_indices(header.sh_type) &&
           Range{header.sh_offset, header.sh_offset + header.sh_size}.contains(range);
  });
}

/// Returns the parts of the output that come from the input, sorted by where they come from. Tables of section indices
/// count although they have changed: nearly all of a large symbol table may, and all of it follows from the
/// renumbering.
std::vector<Region> kept_input(const elf::Image& input, const Layout& layout, const files::Regions& contents) {
  files::Regions output = copied_input(layout);
  for (const Region& changed : contents.all()) {
    if (changed.source != Region::Source::Bytes) continue;
    for (const Region& part : output.part(changed.offset, changed.end()))
      if (!in_index_table(input, {part.from, part.from + part.size})) output.put_hole(part.offset, part.size);
  }
  std::vector<Region> kept = output.all();
  std::erase_if(kept, [](const Region& region) { return region.source != Region::Source::Input; });
  std::ranges::sort(kept, {}, &Region::from);
  return kept;
}

void add_pieces(const elf::Image& input, const std::vector<Region>& kept, UndoRecord& record) {
  std::uint64_t done = 0, end = 0;  // of the last copy, in the original and in the output
  const auto add = [&](std::uint64_t next, std::uint64_t from, std::uint64_t size) {
    const auto literals = input.slice(done, next - done, "literal bytes");
    record.literals.insert(record.literals.end(), literals.begin(), literals.end());
    record.pieces.push_back({literals.size(), from, size});
    done = next + size;
    end = from + size;
  };
  for (const Region& region : kept) add(region.from, region.offset, region.size);
  if (const std::uint64_t size = input.file_bytes().size(); done < size) add(size, end, 0);
}

/// Corrects tables of section indices where the renumbering does not give all of them back: symbols of sections that
/// moved have new values, too.
class Corrections {
 public:
  Corrections(const elf::Image& input, const files::Regions& contents, const std::vector<Region>& kept,
              UndoRecord& record)
      : input_(input), contents_(contents), kept_(kept), record_(record) {}

  /// A large symbol table is compared in parts that stay in a processor's cache.
  void add(const elf::Section& table) {
    constexpr std::uint64_t most = sizeof(Elf64_Sym) << 12;
    const auto right = input_.bytes_of(table);
    const bool is_symbol_table = table.header.sh_type == SHT_SYMTAB || table.header.sh_type == SHT_DYNSYM;
    const std::uint64_t step = is_symbol_table ? most : right.size();
    const std::size_t before = record_.corrections.size();
    for (std::uint64_t begin = 0; begin < right.size(); begin += step) {
      const auto part = right.subspan(begin, std::min<std::uint64_t>(step, right.size() - begin));
      const auto restored = restore(table.header.sh_offset + begin, part, table.header.sh_type);
      if (equal_bytes(restored, part)) continue;
      for (std::size_t i = 0; i < part.size(); ++i)
        if (restored[i] != part[i]) correct(table, right, begin + i, before);
    }
  }

 private:
  /// Returns a part of a table, whose bytes in the input are `right`, as output and renumbering give it back.
  std::vector<std::byte> restore(std::uint64_t begin, std::span<const std::byte> right, std::uint32_t type) const {
    std::vector<std::byte> restored(right.begin(), right.end());
    for (const Region& region : kept_) {
      const std::uint64_t first = std::max(begin, region.from);
      const std::uint64_t last = std::min(begin + right.size(), region.from + region.size);
      if (first >= last) continue;
      const std::uint64_t to = region.offset + (first - region.from);
      std::ranges::copy(contents_.bytes(to, to + (last - first), input_.file_bytes()),
                        restored.begin() + static_cast<std::ptrdiff_t>(first - begin));
    }
    restore_section_indices(restored, type, input_.endian(), record_.new_index_of);
    return restored;
  }

  /// `before`: how many corrections there were before the table's.
  void correct(const elf::Section& table, std::span<const std::byte> right, std::size_t at, std::size_t before) {
    constexpr std::size_t close = 4;  // a correction of its own costs about as much
    const bool is_first = record_.corrections.size() == before;
    if (is_first || at > end_ + close) {
      record_.corrections.push_back({table.header.sh_offset + at, {}});
      end_ = at;
    }
    const auto more = right.subspan(end_, at + 1 - end_);
    auto& bytes = record_.corrections.back().bytes;
    bytes.insert(bytes.end(), more.begin(), more.end());
    end_ = at + 1;
  }

  const elf::Image& input_;
  const files::Regions& contents_;
  const std::vector<Region>& kept_;
  UndoRecord& record_;
  std::size_t end_ = 0;  ///< in the table, of the last correction
};

/// Returns what a converted file has in its headers: most of what they had before. Section names and section headers
/// are empty in a file without them.
template <typename BytesOf>
std::vector<std::byte> dictionary_of(std::size_t segment_count, Range section_names, Range section_table,
                                     BytesOf bytes_of) {
  const Range headers{0, sizeof(Elf64_Ehdr) + segment_count * sizeof(Elf64_Phdr)};
  // The last section header is the record's own.
  section_table.end -= std::min<std::uint64_t>(section_table.size(), sizeof(Elf64_Shdr));
  std::vector<std::byte> dictionary;
  for (const Range& range : {headers, section_names, section_table}) {
    const auto bytes = bytes_of(range);
    dictionary.insert(dictionary.end(), bytes.begin(), bytes.end());
  }
  return dictionary;
}

/// The last of the section headers is the record's.
std::vector<std::byte> undo_header(const Layout& layout, std::uint64_t begin, std::uint64_t size, Endian endian) {
  Elf64_Shdr header = layout.sections.back().header;
  header.sh_offset = begin;
  header.sh_size = size;
  std::vector<std::byte> bytes(sizeof(Elf64_Shdr));
  elf::store_section(bytes, header, endian);
  return bytes;
}

UndoRecord make_undo(const elf::Image& input, const Layout& layout, const files::Regions& contents) {
  UndoRecord record;
  const std::vector<Region> kept = kept_input(input, layout, contents);
  add_pieces(input, kept, record);
  record.new_index_of = layout.new_index_of;
  record.new_index_of.resize(std::min(input.sections().size(), layout.new_index_of.size()));
  Corrections corrections(input, contents, kept, record);
  for (const elf::Section& section : input.sections())
    if (has_section_indices(section.header.sh_type)) corrections.add(section);
  std::ranges::sort(record.corrections, {}, &UndoCorrection::offset);
  return record;
}

/// Returns the section of the record, if it is where it was written: after all others, at the end of the file.
const elf::Section* find_record(const elf::Image& converted, const elf::NewSection& added) {
  const elf::Section* const section = converted.find_section(added.undo_name);
  if (converted.find_section(added.name) == nullptr)
    throw Refused(converted.name(), "no " + std::string(added.name) + " section to remove");
  if (section == nullptr)
    throw Refused(converted.name(), "no undo record (--no-undo left it out, a tool such as strip dropped it, or " +
                                        std::string(added.name) + " is not from sframe-gen)");
  const Range table = converted.section_table();
  const Range bytes = elf::file_range(section->header);
  const bool is_last = section == &converted.sections().back() && section->header.sh_type == SHT_PROGBITS &&
                       (table.empty() || bytes.begin == table.end) && bytes.end == converted.file_bytes().size();
  return is_last ? section : nullptr;
}

std::optional<DecodedUndo> read_record(const elf::Image& converted, const elf::NewSection& added) {
  const elf::Section* const section = find_record(converted, added);
  if (section == nullptr) return {};
  const Elf64_Shdr& names = converted.sections()[converted.section_name_table_index()].header;
  const auto dictionary =
      dictionary_of(converted.segments().size(), elf::file_range(names), converted.section_table(),
                    [&](Range range) { return converted.slice(range.begin, range.size(), "table"); });
  return decode_undo(elf::without_trailer(converted.bytes_of(*section), added), dictionary,
                     {converted.name(), section->name});
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
files::Regions corrections_of(const elf::Image& assembled, const UndoRecord& record) {
  files::Regions corrections;
  for (const elf::Section& section : assembled.sections()) {
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

/// Returns the assembled file. Nothing if it is none that was converted: only sections that lie apart are.
std::optional<elf::Image> open_assembled(int output, const std::string& name) {
  try {
    elf::Image assembled = elf::Image::open(output, name);
    elf::check_no_overlap(assembled);
    return assembled;
  } catch (const Refused&) {
    return {};  // not an ELF file, as a rule
  }
}

Digest digest_of_both(const elf::Image& original, const elf::Image& converted, const UndoRecord& record) {
  Digester digester;
  digester.update(original.file_bytes());
  const std::uint64_t end = converted.sections().back().header.sh_offset;
  for (const Range& range : uncopied(record.pieces, end))
    digester.update(converted.slice(range.begin, range.size(), "rest"));
  return digester.digest();
}

std::optional<Original> try_restoring(const elf::Image& converted, const elf::NewSection& added, int output,
                                      const std::string& output_name) {
  const auto undo = read_record(converted, added);
  if (!undo) return {};
  const auto contents = assemble(undo->record, converted.file_bytes().size());
  if (!contents) return {};
  files::write_regions(*contents, converted.file(), output, output_name);
  const auto original = open_assembled(output, converted.name());
  if (!original) return {};
  const files::Regions corrections = corrections_of(*original, undo->record);
  std::vector<files::Region> corrected = corrections.all();
  std::erase_if(corrected, [](const files::Region& region) { return region.source == files::Region::Source::Hole; });
  files::RegionWriter(converted.file(), output, output_name).write(corrected);
  if (digest_of_both(*original, converted, undo->record) != undo->digest) return {};
  return Original{contents->size(), original->find_section(added.name) != nullptr,
                  original->find_section(added.undo_name) != nullptr};
}

}  // namespace

void append_undo(const elf::Image& input, const Layout& layout, const std::function<Digester()>& original,
                 files::Regions& contents) {
  const UndoRecord record = make_undo(input, layout, contents);
  const auto bytes_of = [&](Range range) { return contents.bytes(range.begin, range.end, input.file_bytes()); };
  auto made = encode_undo(
      record, dictionary_of(layout.segments.size(), layout.names_at_end(), layout.headers_at_end(), bytes_of));
  if (!made) throw Refused(input.name(), "too many changes for an undo record (--no-undo stores none)");
  std::vector<std::byte> encoded = *std::move(made);

  const std::uint64_t begin = contents.size();
  const bool has_header = !layout.sections.empty();
  if (has_header)
    contents.put_bytes(begin - sizeof(Elf64_Shdr), undo_header(layout, begin, encoded.size(), input.endian()));
  Digester digester = original();
  for (const Range& range : uncopied(record.pieces, begin)) {
    for (const Region& region : contents.part(range.begin, range.end)) {
      digester.update(region.contents(input.file_bytes()));
      if (region.source == Region::Source::Hole) digester.update_zeros(region.size);
    }
  }
  const Digest digest = digester.digest();
  std::ranges::copy(digest, digest_of(encoded).begin());
  if (!has_header) {
    const auto trailer = elf::undo_trailer(encoded.size(), layout.section);
    encoded.insert(encoded.end(), trailer.begin(), trailer.end());
  }
  contents.put_bytes(begin, std::move(encoded));
}

Original restore_original(const elf::Image& converted, const elf::NewSection& added, int output,
                          const std::string& output_name) {
  std::optional<Original> restored;
  try {
    restored = try_restoring(converted, added, output, output_name);
  } catch (const MalformedInput&) {
    // A damaged record, or one that makes something else than an ELF file.
  }
  if (!restored)
    throw Refused(converted.name(),
                  "modified since its conversion (by strip?); cannot restore the original (--section-only removes " +
                      std::string(added.name) + " alone)");
  return *restored;
}

Original describe_original(const elf::Image& converted, const elf::NewSection& added) {
  const Descriptor file = files::open_unnamed(std::filesystem::path(converted.name()).parent_path());
  return restore_original(converted, added, file.number(), converted.name());
}

std::optional<elf::Image> find_original(const elf::Image& image, const elf::NewSection& added,
                                        const std::filesystem::path& folder) {
  if (image.find_section(added.undo_name) == nullptr) return {};
  const Descriptor file = files::open_unnamed(folder);
  try {
    restore_original(image, added, file.number(), image.name());
  } catch (const Refused&) {
    return {};
  }
  return elf::Image::open(file.number(), image.name());
}

}  // namespace sframe_gen::rewrite
