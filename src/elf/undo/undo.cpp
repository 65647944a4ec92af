#include "elf/undo/undo.hpp"

#include <algorithm>

#include "elf/edit/file_image.hpp"
#include "elf/records.hpp"
#include "elf/undo/undo_format.hpp"
#include "files/atomic_file.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf {

namespace {

/// By the new index. What has no old one stands for itself.
std::vector<std::uint32_t> invert(const std::vector<std::uint32_t>& new_index_of) {
  std::uint32_t count = 0;
  for (const std::uint32_t index : new_index_of) count = std::max(count, index < SHN_LORESERVE ? index + 1 : 0);
  std::vector<std::uint32_t> old_index_of(count);
  for (std::uint32_t i = 0; i < count; ++i) old_index_of[i] = i;
  for (std::uint32_t i = 0; i < new_index_of.size(); ++i)
    if (new_index_of[i] < count) old_index_of[new_index_of[i]] = i;
  return old_index_of;
}

template <typename Index>
void restore_each(std::span<std::byte> table, std::size_t first, std::size_t step, Endian endian,
                  const std::vector<std::uint32_t>& old_index_of) {
  for (std::size_t at = first; at + sizeof(Index) <= table.size(); at += step) {
    const auto place = table.subspan(at, sizeof(Index));
    const auto index = load<Index>(place, endian);
    if (index < old_index_of.size() && old_index_of[index] != index)
      store<Index>(place, static_cast<Index>(old_index_of[index]), endian);
  }
}

}  // namespace

bool has_section_indices(std::uint32_t section_type) {
  return section_type == SHT_SYMTAB || section_type == SHT_DYNSYM || section_type == SHT_SYMTAB_SHNDX ||
         section_type == SHT_GROUP;
}

void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of) {
  const std::vector<std::uint32_t> old_index_of = invert(new_index_of);
  if (section_type == SHT_SYMTAB || section_type == SHT_DYNSYM)
    return restore_each<std::uint16_t>(table, symbol_section_at, sizeof(Elf64_Sym), endian, old_index_of);
  // A group's first word holds flags.
  const std::size_t first = section_type == SHT_GROUP ? sizeof(std::uint32_t) : 0;
  restore_each<std::uint32_t>(table, first, sizeof(std::uint32_t), endian, old_index_of);
}

namespace {

/// The record's section, if it stands where it was written: behind all others and at the end of the file.
const Section* find_record(const Image& converted, const NewSection& added) {
  const Section* const section = converted.find_section(added.undo_name);
  if (section == nullptr || converted.find_section(added.name) == nullptr)
    throw Refused(converted.name(), "has no " + std::string(added.name) + " section that sframe-gen made");
  // Then reconstruct.hpp has found it at the end.
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
  if (!converted.has_section_headers()) {
    const auto record = without_trailer(converted.bytes_of(*section), added);
    return decode_undo(record, UndoDictionary(headers).bytes(), origin);
  }
  const FileRange table = converted.section_table();
  const UndoDictionary dictionary(headers,
                                  converted.bytes_of(converted.sections()[converted.section_name_table_index()]),
                                  converted.slice(table.begin, table.end - table.begin, "section headers"));
  return decode_undo(converted.bytes_of(*section), dictionary.bytes(), origin);
}

/// The original but for section indices and corrections. Nothing where the record does not fit the file.
std::optional<FileImage> assemble(const UndoRecord& record, std::uint64_t converted_size) {
  FileImage original;
  std::span<const std::byte> literals = record.literals;
  std::uint64_t copied = 0;
  for (const UndoPiece& piece : record.pieces) {
    if (piece.from > converted_size || piece.size > converted_size - piece.from) return {};
    // Each byte was copied once: a record cannot ask for more than the disk has.
    copied += piece.size;
    if (copied > converted_size) return {};
    original.patches.push_back(
        {original.size, {literals.begin(), literals.begin() + static_cast<std::ptrdiff_t>(piece.literals)}});
    literals = literals.subspan(piece.literals);
    original.size += piece.literals;
    original.copies.push_back({piece.from, original.size, piece.size});
    original.size += piece.size;
  }
  for (const UndoCorrection& correction : record.corrections)
    if (correction.offset > original.size || correction.bytes.size() > original.size - correction.offset) return {};
  return original;
}

std::vector<Patch> index_patches(const Image& original, const UndoRecord& record) {
  std::vector<Patch> patches;
  for (const Section& section : original.sections()) {
    if (!has_section_indices(section.header.sh_type)) continue;
    const auto bytes = original.bytes_of(section);
    Patch patch{section.header.sh_offset, {bytes.begin(), bytes.end()}};
    restore_section_indices(patch.bytes, section.header.sh_type, original.endian(), record.new_index_of);
    if (!equal_bytes(bytes, patch.bytes)) patches.push_back(std::move(patch));
  }
  for (const UndoCorrection& correction : record.corrections) patches.push_back({correction.offset, correction.bytes});
  return patches;
}

Digest digest_of_both(const Image& original, const Image& converted, const UndoRecord& record) {
  Digester digester;
  digester.update(original.file_bytes());
  const std::uint64_t end = converted.sections().back().header.sh_offset;
  for (const FileRange& range : uncopied(record.pieces, end))
    digester.update(converted.slice(range.begin, range.end - range.begin, "rest"));
  return digester.digest();
}

std::optional<std::uint64_t> try_restoring(const Image& converted, const NewSection& added, int output,
                                           const std::string& output_name) {
  const auto undo = read_record(converted, added);
  if (!undo) return {};
  auto contents = assemble(undo->record, converted.file_bytes().size());
  if (!contents) return {};
  write_file_image(*contents, converted.file(), output, output_name);
  const Image original = Image::open(output, converted.name());
  write_patches(index_patches(original, undo->record), output, output_name);
  if (digest_of_both(original, converted, undo->record) != undo->digest) return {};
  return contents->size;
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
  const files::UnnamedFile file(std::filesystem::path(converted.name()).parent_path());
  return restore_original(converted, added, file.descriptor(), converted.name());
}

std::optional<Image> find_original(const Image& image, const NewSection& added, const std::filesystem::path& folder) {
  if (image.find_section(added.undo_name) == nullptr) return {};
  const files::UnnamedFile file(folder);
  try {
    restore_original(image, added, file.descriptor(), image.name());
  } catch (const Refused&) {
    return {};
  }
  return Image::open(file.descriptor(), image.name());
}

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
