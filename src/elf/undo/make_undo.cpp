#include <algorithm>
#include <utility>
#include <vector>

#include "elf/edit/contents.hpp"
#include "elf/records.hpp"
#include "elf/undo/undo.hpp"
#include "elf/undo/undo_record.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf {

namespace {

using files::Region;

bool is_symbol_table(const Section& section) {
  return section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM;
}

bool in_index_table(const Image& input, Range range) {
  return std::ranges::any_of(input.sections(), [&](const Section& section) {
    const Elf64_Shdr& header = section.header;
    return has_section_indices(header.sh_type) &&
           Range{header.sh_offset, header.sh_offset + header.sh_size}.contains(range);
  });
}

/// Returns the parts of the output that come from the input, sorted by where they come from. Tables of section indices
/// count although they have changed: nearly all of a large symbol table may, and all of it follows from the
/// renumbering.
std::vector<Region> kept_input(const Image& input, const Layout& layout, const files::Regions& contents) {
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

void add_pieces(const Image& input, const std::vector<Region>& kept, UndoRecord& record) {
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
  Corrections(const Image& input, const files::Regions& contents, const std::vector<Region>& kept, UndoRecord& record)
      : input_(input), contents_(contents), kept_(kept), record_(record) {}

  /// A large symbol table is compared in parts that stay in a processor's cache.
  void add(const Section& table) {
    constexpr std::uint64_t most = sizeof(Elf64_Sym) << 12;
    const auto right = input_.bytes_of(table);
    const std::uint64_t step = is_symbol_table(table) ? most : right.size();
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
  void correct(const Section& table, std::span<const std::byte> right, std::size_t at, std::size_t before) {
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

  const Image& input_;
  const files::Regions& contents_;
  const std::vector<Region>& kept_;
  UndoRecord& record_;
  std::size_t end_ = 0;  ///< in the table, of the last correction
};

std::vector<std::byte> dictionary_of(const Image& input, const Layout& layout, const files::Regions& contents) {
  const auto bytes = [&](std::uint64_t begin, std::uint64_t size) {
    return contents.bytes(begin, begin + size, input.file_bytes());
  };
  const auto headers = bytes(0, sizeof(Elf64_Ehdr) + layout.segments.size() * sizeof(Elf64_Phdr));
  if (!input.has_section_headers()) return undo_dictionary(headers, {}, {});
  const Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  return undo_dictionary(headers, bytes(names.sh_offset, names.sh_size),
                         bytes(layout.header.e_shoff, layout.sections.size() * sizeof(Elf64_Shdr)));
}

/// The last of the section headers is the record's.
std::vector<std::byte> undo_header(const Layout& layout, std::uint64_t begin, std::uint64_t size, Endian endian) {
  Elf64_Shdr header = layout.sections.back().header;
  header.sh_offset = begin;
  header.sh_size = size;
  std::vector<std::byte> bytes(sizeof(Elf64_Shdr));
  store_section(bytes, header, endian);
  return bytes;
}

UndoRecord make_undo(const Image& input, const Layout& layout, const files::Regions& contents) {
  UndoRecord record;
  const std::vector<Region> kept = kept_input(input, layout, contents);
  add_pieces(input, kept, record);
  const auto& all = layout.new_index_of;
  if (input.has_section_headers())
    record.new_index_of.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(input.sections().size()));
  Corrections corrections(input, contents, kept, record);
  for (const Section& section : input.sections())
    if (has_section_indices(section.header.sh_type)) corrections.add(section);
  std::ranges::sort(record.corrections, {}, &UndoCorrection::offset);
  return record;
}

}  // namespace

void append_undo(const Image& input, const Layout& layout, const std::function<Digester()>& original,
                 files::Regions& contents) {
  const UndoRecord record = make_undo(input, layout, contents);
  std::vector<std::byte> encoded = encode_undo(record, dictionary_of(input, layout, contents));

  const std::uint64_t begin = contents.size();
  if (input.has_section_headers())
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
  if (!input.has_section_headers()) {
    const auto trailer = undo_trailer(encoded.size(), layout.section);
    encoded.insert(encoded.end(), trailer.begin(), trailer.end());
  }
  contents.put_bytes(begin, std::move(encoded));
}

}  // namespace sframe_gen::elf
