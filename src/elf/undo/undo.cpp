#include "elf/undo/undo.hpp"

#include <algorithm>

#include "elf/alignment.hpp"
#include "elf/edit/output_bytes.hpp"
#include "elf/records.hpp"
#include "elf/undo/index_tables.hpp"
#include "support/equal_bytes.hpp"

namespace sframe_gen::elf {

namespace {

FileRange range_of(const Section& section) {
  return {section.header.sh_offset, section.header.sh_offset + section.header.sh_size};
}

/// Works out the original as a function of the converted file.
class Reversal {
 public:
  Reversal(const Image& input, const Layout& layout, const FileImage& contents)
      : input_(input), layout_(layout), contents_(contents) {
    // What moved lies over padding that was copied before.
    for (const Copy& copy : contents.copies) {
      cut_out({copy.to, copy.to + copy.size}, Tables::Too);
      kept_.push_back(copy);
    }
    std::sort(kept_.begin(), kept_.end(), [](const Copy& a, const Copy& b) { return a.from < b.from; });
    for (const Patch& patch : contents.patches)
      cut_out({patch.offset, patch.offset + patch.bytes.size()}, Tables::Stay);
  }

  UndoRecord record() {
    UndoRecord record;
    make_pieces(record);
    const auto& all = layout_.new_index_of;
    if (input_.has_section_headers())
      record.new_index_of.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(input_.sections().size()));
    for (const Section& section : input_.sections())
      if (has_section_indices(section.header.sh_type)) correct_table(section, record);
    std::sort(record.corrections.begin(), record.corrections.end(),
              [](const UndoCorrection& a, const UndoCorrection& b) { return a.offset < b.offset; });
    return record;
  }

 private:
  enum class Tables : std::uint8_t { Too, Stay };

  /// Bytes of the output that do not come from the input any more. Tables of section indices may be an exception:
  /// nearly all of a large symbol table may have changed, and all of it follows from the renumbering.
  void cut_out(FileRange patched, Tables tables) {
    std::vector<Copy> parts;
    for (const Copy& copy : kept_) {
      const FileRange to{copy.to, copy.to + copy.size};
      const FileRange cut{std::max(to.begin, patched.begin), std::min(to.end, patched.end)};
      const bool stays =
          tables == Tables::Stay && in_index_table({cut.begin - to.begin + copy.from, cut.end - to.begin + copy.from});
      if (cut.empty() || stays) {
        parts.push_back(copy);
        continue;
      }
      if (to.begin < cut.begin) parts.push_back({copy.from, copy.to, cut.begin - to.begin});
      if (cut.end < to.end) parts.push_back({copy.from + (cut.end - to.begin), cut.end, to.end - cut.end});
    }
    kept_ = std::move(parts);
  }

  bool in_index_table(FileRange range) const {
    return std::any_of(input_.sections().begin(), input_.sections().end(), [&](const Section& section) {
      return has_section_indices(section.header.sh_type) && range_of(section).contains(range);
    });
  }

  void make_pieces(UndoRecord& record) const {
    std::uint64_t done = 0;
    std::uint64_t end = 0;  // of the last copy, in the output
    const auto piece = [&](std::uint64_t next, std::uint64_t from, std::uint64_t size) {
      const auto literals = input_.slice(done, next - done, "literal bytes");
      record.literals.insert(record.literals.end(), literals.begin(), literals.end());
      record.pieces.push_back({literals.size(), from, size});
      done = next + size;
      end = from + size;
    };
    for (const Copy& copy : kept_) piece(copy.from, copy.to, copy.size);
    if (const std::uint64_t size = input_.file_bytes().size(); done < size) piece(size, end, 0);
  }

  /// Symbols of sections that moved have new values, too.
  void correct_table(const Section& section, UndoRecord& record) const {
    const FileRange range = range_of(section);
    const auto right = input_.bytes_of(section);
    if (is_restored(range, section.header.sh_type, record)) return;
    add_corrections(range.begin, restored(range, section.header.sh_type, record), right, record);
  }

  /// Nearly always. A large symbol table is gone through in parts that stay in a processor's cache.
  bool is_restored(FileRange table, std::uint32_t type, const UndoRecord& record) const {
    constexpr std::uint64_t most = sizeof(Elf64_Sym) << 12;
    if (type != SHT_SYMTAB && type != SHT_DYNSYM) return false;
    while (!table.empty()) {
      const FileRange part{table.begin, std::min(table.end, table.begin + most)};
      if (!equal_bytes(restored(part, type, record), slice(part))) return false;
      table.begin = part.end;
    }
    return true;
  }

  /// A part of a table of the input, from an entry on, as the converted file and the renumbering give it back.
  std::vector<std::byte> restored(FileRange part, std::uint32_t type, const UndoRecord& record) const {
    const auto right = slice(part);
    std::vector<std::byte> restored(right.begin(), right.end());
    for (const Copy& copy : kept_) {
      const FileRange kept{std::max(part.begin, copy.from), std::min(part.end, copy.from + copy.size)};
      if (kept.empty()) continue;
      const std::uint64_t to = copy.to + (kept.begin - copy.from);
      const auto bytes = output_bytes(input_, contents_, {to, to + (kept.end - kept.begin)});
      std::copy(bytes.begin(), bytes.end(), restored.begin() + static_cast<std::ptrdiff_t>(kept.begin - part.begin));
    }
    restore_section_indices(restored, type, input_.endian(), record.new_index_of);
    return restored;
  }

  std::span<const std::byte> slice(FileRange part) const {
    return input_.slice(part.begin, part.end - part.begin, "table of section indices");
  }

  static void add_corrections(std::uint64_t offset, std::span<const std::byte> restored,
                              std::span<const std::byte> right, UndoRecord& record) {
    constexpr std::size_t close = 4;  // a correction of its own costs about as much
    std::size_t end = 0;
    bool extends = false;
    for (std::size_t at = 0; at < right.size(); ++at) {
      if (restored[at] == right[at]) continue;
      if (!extends || at > end + close) {
        record.corrections.push_back({offset + at, {}});
        end = at;
        extends = true;
      }
      const auto more = right.subspan(end, at + 1 - end);
      auto& bytes = record.corrections.back().bytes;
      bytes.insert(bytes.end(), more.begin(), more.end());
      end = at + 1;
    }
  }

  const Image& input_;
  const Layout& layout_;
  const FileImage& contents_;
  std::vector<Copy> kept_;  ///< sorted by where they come from
};

UndoDictionary dictionary_of(const Image& input, const Layout& layout, const FileImage& contents) {
  const auto bytes = [&](std::uint64_t begin, std::uint64_t size) {
    return output_bytes(input, contents, {begin, begin + size});
  };
  const auto headers = bytes(0, sizeof(Elf64_Ehdr) + layout.segments.size() * sizeof(Elf64_Phdr));
  if (!input.has_section_headers()) return UndoDictionary(headers);
  const Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  return {headers, bytes(names.sh_offset, names.sh_size),
          bytes(layout.header.e_shoff, layout.sections.size() * sizeof(Elf64_Shdr))};
}

}  // namespace

UndoRecord make_undo(const Image& input, const Layout& layout, const FileImage& contents) {
  return Reversal(input, layout, contents).record();
}

UndoDictionary::UndoDictionary(std::span<const std::byte> headers) : bytes_(headers.begin(), headers.end()) {}

UndoDictionary::UndoDictionary(std::span<const std::byte> headers, std::span<const std::byte> section_names,
                               std::span<const std::byte> section_table) {
  const auto others = section_table.first(section_table.size() - sizeof(Elf64_Shdr));
  for (const auto& part : {headers, section_names, others}) bytes_.insert(bytes_.end(), part.begin(), part.end());
}

std::vector<FileRange> uncopied(const std::vector<UndoPiece>& pieces, std::uint64_t size) {
  std::vector<FileRange> copied;
  copied.reserve(pieces.size());
  for (const UndoPiece& piece : pieces) copied.push_back({piece.from, piece.from + piece.size});
  std::sort(copied.begin(), copied.end(), [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  std::vector<FileRange> rest;
  std::uint64_t done = 0;
  for (const FileRange& range : copied) {
    if (done < range.begin) rest.push_back({done, range.begin});
    done = std::max(done, range.end);
  }
  if (done < size) rest.push_back({done, size});
  return rest;
}

namespace {

/// The last of the section headers is the record's.
Patch undo_header(const Layout& layout, std::uint64_t size, std::uint64_t begin, Endian endian) {
  Elf64_Shdr header = layout.sections.back().header;
  header.sh_offset = begin;
  header.sh_size = size;
  Patch patch{begin - sizeof(Elf64_Shdr), std::vector<std::byte>(sizeof(Elf64_Shdr))};
  store_section(patch.bytes, header, endian);
  return patch;
}

}  // namespace

void append_undo(const Image& input, const Layout& layout, const std::function<Digester()>& original,
                 FileImage& contents) {
  const UndoRecord record = make_undo(input, layout, contents);
  std::vector<std::byte> encoded = encode_undo(record, dictionary_of(input, layout, contents).bytes());

  const std::uint64_t begin = contents.size;
  if (input.has_section_headers())
    contents.patches.push_back(undo_header(layout, encoded.size(), begin, input.endian()));
  const std::vector<FileRange> others = uncopied(record.pieces, begin);
  Digester digester = original();
  for (const FileRange& range : others)
    visit_output_bytes(input, contents, range, [&](std::span<const std::byte> bytes) { digester.update(bytes); });
  const Digest digest = digester.digest();
  std::copy(digest.begin(), digest.end(), digest_of(encoded).begin());
  if (!input.has_section_headers()) {
    const auto trailer = undo_trailer(encoded.size(), layout.section);
    encoded.insert(encoded.end(), trailer.begin(), trailer.end());
  }
  contents.patches.push_back({begin, std::move(encoded)});
  contents.size = contents.patches.back().offset + contents.patches.back().bytes.size();
}

}  // namespace sframe_gen::elf
