#include "elf/headerless.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/new_section.hpp"
#include "elf/notes.hpp"
#include "elf/pointer_encoding.hpp"
#include "elf/records.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

struct Hashes {
  std::uint64_t size = 0;
  std::optional<std::uint64_t> symbols;  ///< of the dynamic symbol table; not told where none of them is defined
};

/// The dynamic linker's tables that PT_DYNAMIC names and whose size can be told, under the names that linkers give
/// them: hash tables, symbols and their names and versions, relocations. Those that lie outside the file are left out.
class DynamicSections {
 public:
  explicit DynamicSections(const Image& image)
      : image_(image), origin_{image.name(), "PT_DYNAMIC"}, dynamic_(read_dynamic(image)) {}

  std::vector<Section> run() {
    std::optional<std::uint64_t> symbols;
    for (const std::int64_t tag : {std::int64_t{DT_GNU_HASH}, std::int64_t{DT_HASH}}) {
      const auto address = find_dynamic(dynamic_, tag);
      if (!address) continue;
      const auto hashes = tag == DT_HASH ? plain_hashes(*address) : gnu_hashes(*address);
      if (!hashes) continue;
      add(tag, hashes->size, 0);
      if (hashes->symbols) symbols = hashes->symbols;
    }
    if (symbols && *symbols <= image_.file_bytes().size() / sizeof(Elf64_Sym)) {
      add(DT_SYMTAB, *symbols * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
      add(DT_VERSYM, *symbols * sizeof(Elf64_Half), sizeof(Elf64_Half));
    }
    add(DT_STRTAB, size_by(DT_STRSZ), 0);
    add(dynamic_tag_relr, size_by(dynamic_tag_relr_size), sizeof(std::uint64_t));
    add_relocations();
    return std::move(sections_);
  }

 private:
  std::uint64_t size_by(std::int64_t tag) const { return find_dynamic(dynamic_, tag).value_or(0); }

  void add(std::int64_t tag, std::uint64_t size, std::uint64_t entry_size) {
    const DynamicTable& table = *std::ranges::find(dynamic_tables, tag, &DynamicTable::tag);
    const std::uint32_t type = table.section_type;
    const auto address = find_dynamic(dynamic_, tag);
    if (!address || size == 0) return;
    const auto bytes = loaded_bytes(image_, *address, size);
    if (bytes.empty()) return;
    // As the address allows: no table has more than 8, and a higher one than the linker's harms nothing.
    const std::uint64_t alignment = type == SHT_STRTAB ? 1 : type == SHT_GNU_versym ? 2 : *address % 8 == 0 ? 8 : 4;
    sections_.push_back({{0, type, SHF_ALLOC, *address, offset_of(image_, bytes), size, 0, 0, alignment, entry_size},
                         table.section_name,
                         0});
  }

  /// Some linkers let DT_RELASZ count the PLT's relocations as well; their sections are two all the same.
  void add_relocations() {
    if (find_dynamic(dynamic_, DT_PLTREL).value_or(DT_RELA) != DT_RELA) return;
    std::uint64_t size = size_by(DT_RELASZ);
    const auto table = find_dynamic(dynamic_, DT_RELA);
    const auto of_plt = find_dynamic(dynamic_, DT_JMPREL);
    if (table && of_plt && *of_plt > *table && *of_plt - *table < size) size = *of_plt - *table;
    if (!table || table != of_plt) add(DT_RELA, size, sizeof(Elf64_Rela));
    add(DT_JMPREL, size_by(DT_PLTRELSZ), sizeof(Elf64_Rela));
  }

  /// gABI, chapter 5, "Hash Table".
  std::optional<Hashes> plain_hashes(std::uint64_t address) const {
    const Machine* const machine = find_machine(image_);
    const std::uint64_t word = machine != nullptr ? machine->hash_word : 4;
    const auto bytes = loaded_bytes(image_, address, 2 * word);
    if (bytes.empty()) return {};
    ByteReader reader(bytes, image_.endian(), origin_);
    const auto read = [&] { return word == 8 ? reader.u64("count") : reader.u32("count"); };
    const std::uint64_t buckets = read();
    const std::uint64_t chains = read();
    const std::uint64_t most = image_.file_bytes().size() / word;
    if (buckets > most || chains > most) return {};
    return Hashes{(2 + buckets + chains) * word, chains};
  }

  /// Buckets name the first symbol of a chain each; the last symbol of all ends the last chain, which says so in its
  /// lowest bit.
  std::optional<Hashes> gnu_hashes(std::uint64_t address) const {
    constexpr std::uint64_t header_size = 16;
    constexpr std::uint64_t word = 4;
    const auto bytes = loaded_bytes_from(image_, address);
    if (bytes.size() < header_size) return {};
    ByteReader reader(bytes, image_.endian(), origin_);
    const std::uint64_t buckets = reader.u32("number of buckets");
    const std::uint64_t first = reader.u32("first symbol");
    const std::uint64_t filter = reader.u32("size of the filter") * std::uint64_t{8};
    reader.u32("shift");
    if (filter + buckets * word > reader.left()) return {};
    reader.take(filter, "filter");
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) last = std::max<std::uint64_t>(last, reader.u32("bucket"));
    if (last == 0) return Hashes{reader.offset(), if_table_follows(first)};
    if (last < first || (last - first) > reader.left() / word) return {};
    reader.take((last - first) * word, "chains");
    for (++last; reader.left() >= word; ++last)
      if (reader.u32("chain") % 2 != 0) return Hashes{reader.offset(), last};
    return {};
  }

  /// Where no symbol is hashed, lld says how many there are, and GNU ld says 1. It is true if another table follows.
  std::optional<std::uint64_t> if_table_follows(std::uint64_t symbols) const {
    const auto table = find_dynamic(dynamic_, DT_SYMTAB);
    constexpr std::array tags{std::int64_t{DT_GNU_HASH}, std::int64_t{DT_HASH}, std::int64_t{DT_STRTAB},
                              std::int64_t{DT_VERSYM},   std::int64_t{DT_RELA}, dynamic_tag_relr};
    const bool follows = table && std::any_of(tags.begin(), tags.end(), [&](std::int64_t tag) {
                           return find_dynamic(dynamic_, tag) == *table + symbols * sizeof(Elf64_Sym);
                         });
    return follows ? std::optional(symbols) : std::nullopt;
  }

  const Image& image_;
  InputOrigin origin_;
  std::vector<DynamicEntry> dynamic_;
  std::vector<Section> sections_;
};

/// What every linker writes its search table in.
constexpr std::uint8_t table_form = pointer_encoding::data_relative | pointer_encoding::sdata4;

/// A pointer; those that are relative to data count from `header`, the address of PT_GNU_EH_FRAME.
std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t header, const char* what) {
  const std::uint64_t at = reader.offset();
  const std::uint64_t value = read_pointer_value(reader, encoding, what);
  switch (encoding & ~pointer_encoding::format_mask) {
    case pointer_encoding::absptr:
      return value;
    case pointer_encoding::pc_relative:
      return value + header + at;
    case pointer_encoding::data_relative:
      return value + header;
    default:
      reader.fail(at, std::string(what) + " has the unknown encoding " + hex(encoding));
  }
}

struct SearchHeader {
  std::uint64_t eh_frame = 0;             ///< address
  std::optional<std::uint64_t> last_fde;  ///< address, of those in the search table
};

SearchHeader read_header(const Image& image, const Elf64_Phdr& segment) {
  const InputOrigin origin{image.name(), "PT_GNU_EH_FRAME"};
  ByteReader reader(image.slice(segment.p_offset, segment.p_filesz, "PT_GNU_EH_FRAME"), image.endian(), origin);
  const std::uint8_t version = reader.u8("version");
  if (version != 1) reader.fail(0, "version is " + std::to_string(version) + ", not 1");
  const std::uint8_t eh_frame_encoding = reader.u8("encoding of .eh_frame's address");
  const std::uint8_t count_encoding = reader.u8("encoding of the number of FDEs");
  const std::uint8_t table_encoding = reader.u8("encoding of the search table");
  SearchHeader header;
  header.eh_frame = read_pointer(reader, eh_frame_encoding, segment.p_vaddr, ".eh_frame's address");
  if (count_encoding == pointer_encoding::omit || table_encoding != table_form) return header;
  const std::uint64_t count = read_pointer(reader, count_encoding, segment.p_vaddr, "number of FDEs");
  if (count > reader.left() / 8)
    reader.fail("search table of " + std::to_string(count) + " entries does not fit in the segment");
  for (std::uint64_t i = 0; i < count; ++i) {
    reader.i32("function start");
    const std::uint64_t fde = segment.p_vaddr + static_cast<std::uint64_t>(reader.i32("address of an FDE"));
    header.last_fde = std::max(header.last_fde.value_or(0), fde);
  }
  return header;
}

/// Steps over records as long as they look like some.
class EhFrameWalk {
 public:
  EhFrameWalk(std::span<const std::byte> bytes, Endian endian, const InputOrigin& origin)
      : size_(bytes.size()), reader_(bytes, endian, origin) {}

  /// Bytes up to the terminator and with it, or all; nothing where something else stands in between.
  std::optional<std::uint64_t> to_terminator() {
    while (!reader_.at_end()) {
      const auto length = read_length();
      if (!length) return {};
      if (*length == 0) return reader_.offset();
      if (!step(*length)) return {};
    }
    return size_;
  }

  /// The end of the one record that begins here.
  std::optional<std::uint64_t> over_one() {
    const auto length = read_length();
    if (!length || *length > reader_.left()) return {};
    return reader_.offset() + *length;
  }

 private:
  /// Returns the length of the record's body, or nothing if the field is cut off.
  std::optional<std::uint64_t> read_length() {
    if (reader_.left() < sizeof(std::uint32_t)) return {};
    const std::uint32_t length = reader_.u32("record length");
    is_wide_ = length == UINT32_MAX;
    if (!is_wide_) return length;
    if (reader_.left() < sizeof(std::uint64_t)) return {};
    return reader_.u64("64-bit record length");
  }

  bool step(std::uint64_t length) {
    const std::uint64_t begin = reader_.offset() - (is_wide_ ? 12 : 4);
    const std::uint64_t id_at = reader_.offset();
    const std::uint64_t id_size = is_wide_ ? 8 : 4;
    if (length > reader_.left() || length < id_size + 1) return false;
    const std::uint64_t id = is_wide_ ? reader_.u64("CIE id") : reader_.u32("CIE id");
    const std::uint8_t version = reader_.u8("CIE version");
    reader_.take(length - id_size - 1, "record");
    if (id != 0) return commons_.contains(id_at - id);
    commons_.insert(begin);
    return version == 1 || version == 3 || version == 4;
  }

  std::uint64_t size_;
  ByteReader reader_;
  bool is_wide_ = false;
  std::unordered_set<std::uint64_t> commons_;  ///< by offset
};

/// What linkers call a section of this note: movable.cpp knows some by name.
const char* name_of_note(std::string_view owner, std::uint32_t type) {
  constexpr std::uint32_t package = 0xcafe1a7e;
  if (owner == "FDO" && type == package) return ".note.package";
  if (owner != "GNU") return ".note";
  switch (type) {
    case NT_GNU_ABI_TAG:
      return ".note.ABI-tag";
    case NT_GNU_BUILD_ID:
      return ".note.gnu.build-id";
    case NT_GNU_PROPERTY_TYPE_0:
      return ".note.gnu.property";
    default:
      return ".note";
  }
}

class Reconstruction {
 public:
  explicit Reconstruction(const Image& image) : image_(image) {}

  std::vector<Section> run() {
    for (const Elf64_Phdr& segment : image_.segments()) add_segment(segment);
    add_notes();
    add_eh_frame();
    add_dynamic_sections();
    add_old_headers();
    sort(sections_);
    add_unknown();
    sort(sections_);
    sections_.insert(sections_.begin(), Section{});
    add_undo();
    number();
    return std::move(sections_);
  }

 private:
  bool is_in_file(const Elf64_Phdr& segment) const {
    const std::uint64_t size = image_.file_bytes().size();
    return segment.p_filesz != 0 && segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset;
  }

  /// A section of the bytes at the segment's beginning; loaded, if a PT_LOAD has the same bytes at its address.
  void add(std::string name, std::uint32_t type, const Elf64_Phdr& segment, std::uint64_t alignment) {
    if (!is_in_file(segment)) return;
    const auto loaded = loaded_bytes(image_, segment.p_vaddr, segment.p_filesz);
    const bool is_loaded = !loaded.empty() && offset_of(image_, loaded) == segment.p_offset;
    std::uint64_t flags = is_loaded ? SHF_ALLOC : 0;
    if (type == SHT_DYNAMIC) flags |= SHF_WRITE;
    if (!is_power_of_two_or_zero(alignment)) return;
    sections_.push_back({{0, type, flags, segment.p_vaddr, segment.p_offset, segment.p_filesz, 0, 0, alignment, 0},
                         std::move(name),
                         0});
  }

  void add_segment(const Elf64_Phdr& segment) {
    switch (segment.p_type) {
      case PT_INTERP:
        return add(".interp", SHT_PROGBITS, segment, 1);
      case PT_DYNAMIC:
        return add(".dynamic", SHT_DYNAMIC, segment, 8);
      case PT_GNU_EH_FRAME:
        return add(".eh_frame_hdr", SHT_PROGBITS, segment, 4);
      case segment_type_gnu_sframe:
        return add(sframe_section_name, section_type_gnu_sframe, segment, sframe_section.alignment);
      default:
        return;
    }
  }

  /// Program headers of notes may hold several, and each other.
  void add_notes() {
    std::vector<Elf64_Phdr> notes;
    for (const Elf64_Phdr& segment : image_.segments())
      if ((segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY) && is_in_file(segment) &&
          !is_stale_property(image_, segment))
        notes.push_back(segment);
    std::ranges::stable_sort(notes, {}, &Elf64_Phdr::p_offset);
    for (std::size_t i = 0; i < notes.size();) {
      Elf64_Phdr all = notes[i];
      for (++i; i < notes.size() && file_range(all).overlaps(file_range(notes[i])); ++i)
        all.p_filesz = std::max(file_range(all).end, file_range(notes[i]).end) - all.p_offset;
      add_each_note(all);
    }
  }

  /// A section each: a PT_NOTE of mold holds some that are padded to 8 bytes and some that are padded to 4.
  void add_each_note(const Elf64_Phdr& segment) {
    const InputOrigin origin{image_.name(), "PT_NOTE"};
    ByteReader reader(image_.slice(segment.p_offset, segment.p_filesz, "PT_NOTE"), image_.endian(), origin);
    const auto pad = [&] { reader.take(std::min(reader.left(), (0 - reader.offset()) % 4), "padding"); };
    // A note may take sixteen bytes of a file, and its section ten times that in memory. Files have a few.
    constexpr std::size_t most_sections = 4096;
    try {
      while (reader.left() >= sizeof(Elf64_Nhdr) && sections_.size() < most_sections) {
        const std::uint64_t begin = reader.offset();
        const std::uint32_t name_size = reader.u32("name size of a note");
        // No note has no name: this is padding.
        if (name_size == 0) continue;
        const std::uint32_t size = reader.u32("descriptor size of a note");
        const std::uint32_t type = reader.u32("type of a note");
        const auto name = reader.take(name_size, "name of a note");
        pad();
        reader.take(size, "descriptor of a note");
        pad();
        Elf64_Phdr note = segment;
        note.p_offset += begin;
        note.p_vaddr += begin;
        note.p_filesz = reader.offset() - begin;
        const bool is_property = type == NT_GNU_PROPERTY_TYPE_0 && note.p_filesz % 8 == 0;
        add(name_of_note(text_before_zero(name), type), SHT_NOTE, note, is_property ? 8 : 4);
      }
    } catch (const MalformedInput&) {
      // What cannot be read stays where it is, as one of the unknown.
    }
  }

  void add_eh_frame() {
    try {
      if (const auto place = find_eh_frame(image_))
        add_loaded(".eh_frame", SHT_PROGBITS, SHF_ALLOC, place->address, place->size, 8);
    } catch (const MalformedInput&) {
      // check_headers says what is wrong.
    }
  }

  void add_dynamic_sections() {
    try {
      std::ranges::move(DynamicSections(image_).run(), std::back_inserter(sections_));
    } catch (const MalformedInput&) {
      // Then its tables are as unknown as the rest; the code that needs PT_DYNAMIC reports what is wrong.
    }
  }

  void add_loaded(const char* name, std::uint32_t type, std::uint64_t flags, std::uint64_t address, std::uint64_t size,
                  std::uint64_t alignment) {
    const std::uint64_t offset = offset_of(image_, loaded_bytes(image_, address, size));
    sections_.push_back({{0, type, flags, address, offset, size, 0, 0, alignment, 0}, name, 0});
  }

  /// The ELF header that TablePlan::Below leaves in memory: it leads to the program headers as well.
  void add_old_headers() {
    const Elf64_Phdr* const first = image_.find_segment(PT_LOAD);
    for (const Elf64_Phdr& load : image_.segments()) {
      if (load.p_type != PT_LOAD || load.p_offset == 0 || load.p_filesz < sizeof(Elf64_Ehdr) || !is_in_file(load))
        continue;
      const auto bytes = image_.file_bytes().subspan(load.p_offset, sizeof(Elf64_Ehdr));
      if (std::memcmp(bytes.data(), image_.file_bytes().data(), EI_NIDENT) != 0) continue;
      const Elf64_Ehdr header = load_header(bytes, image_.endian());
      if (load.p_vaddr + header.e_phoff == first->p_vaddr + image_.header().e_phoff)
        add_loaded(old_headers_name, SHT_PROGBITS, SHF_ALLOC, load.p_vaddr, sizeof(Elf64_Ehdr), 8);
    }
  }

  /// Gaps between what is known so far, in each PT_LOAD.
  void add_unknown() {
    std::vector<Section> known = sections_;
    const auto claim = [&](Range range) {
      known.push_back({{0, SHT_PROGBITS, 0, 0, range.begin, range.size(), 0, 0, 8, 0}, {}, 0});
    };
    claim({0, sizeof(Elf64_Ehdr)});
    claim(image_.segment_table());
    sort(known);
    for (const Elf64_Phdr& load : image_.segments()) {
      if (load.p_type != PT_LOAD || !is_in_file(load)) continue;
      const Range bytes = file_range(load);
      std::uint64_t done = bytes.begin;
      for (const Section& section : known) {
        const Range range = file_range(section.header);
        if (range.end <= done || range.begin >= bytes.end) continue;
        if (done < range.begin && !is_padding({done, range.begin}, section.header.sh_addralign))
          add_unknown(load, {done, range.begin});
        done = range.end;
      }
      if (done < bytes.end) add_unknown(load, {done, bytes.end});
    }
  }

  bool is_padding(Range gap, std::uint64_t alignment) const {
    if (gap.size() >= alignment) return false;
    const auto bytes = image_.file_bytes().subspan(gap.begin, gap.size());
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  void add_unknown(const Elf64_Phdr& load, Range range) {
    std::uint64_t flags = SHF_ALLOC;
    if ((load.p_flags & PF_W) != 0) flags |= SHF_WRITE;
    if ((load.p_flags & PF_X) != 0) flags |= SHF_EXECINSTR;
    sections_.push_back(
        {{0, SHT_PROGBITS, flags, load.p_vaddr + (range.begin - load.p_offset), range.begin, range.size(), 0, 0, 1, 0},
         "of unknown bytes",
         0});
  }

  void add_undo() {
    const auto range = find_undo_trailer(image_.file_bytes(), sframe_section);
    if (!range) return;
    sections_.push_back({{0, SHT_PROGBITS, 0, 0, range->begin, range->end - range->begin, 0, 0, 1, 0},
                         std::string(sframe_section.undo_name),
                         0});
  }

  static void sort(std::vector<Section>& sections) {
    std::ranges::stable_sort(sections, {}, [](const Section& section) { return section.header.sh_offset; });
  }

  void number() {
    const auto find = [&](std::uint32_t type) {
      const auto found =
          std::ranges::find(sections_, type, [](const Section& section) { return section.header.sh_type; });
      return static_cast<std::uint32_t>(found == sections_.end() ? 0 : found - sections_.begin());
    };
    for (std::uint32_t i = 0; i < sections_.size(); ++i) sections_[i].index = i;
    const std::uint32_t symbols = find(SHT_DYNSYM);
    if (symbols != 0) sections_[symbols].header.sh_link = find(SHT_STRTAB);
  }

  const Image& image_;
  std::vector<Section> sections_;
};

}  // namespace

std::optional<EhFramePlace> find_eh_frame(const Image& image) {
  const Elf64_Phdr* const segment = image.find_segment(PT_GNU_EH_FRAME);
  if (segment == nullptr || segment->p_filesz == 0) return {};
  const SearchHeader header = read_header(image, *segment);
  const InputOrigin origin{image.name(), "PT_GNU_EH_FRAME"};
  const auto bytes = loaded_bytes_from(image, header.eh_frame);
  if (bytes.empty())
    throw MalformedInput(origin, 0, ".eh_frame's address is " + hex(header.eh_frame) + ", where no PT_LOAD has bytes");
  if (const auto size = EhFrameWalk(bytes, image.endian(), origin).to_terminator())
    return EhFramePlace{header.eh_frame, *size};
  if (!header.last_fde) return EhFramePlace{header.eh_frame, bytes.size()};
  const std::uint64_t begin = *header.last_fde - header.eh_frame;
  if (begin >= bytes.size())
    throw MalformedInput(origin, 0, "FDE at " + hex(*header.last_fde) + " is outside .eh_frame's segment");
  const auto end = EhFrameWalk(bytes.subspan(begin), image.endian(), origin).over_one();
  if (!end) throw MalformedInput(origin, 0, "FDE at " + hex(*header.last_fde) + " reaches over .eh_frame's segment");
  return EhFramePlace{header.eh_frame, begin + *end};
}

std::vector<Section> reconstruct_sections(const Image& image) {
  const Elf64_Half type = image.header().e_type;
  if (image.find_segment(PT_LOAD) == nullptr || (type != ET_EXEC && type != ET_DYN)) return {};
  // More than check_headers lets through: nothing is worth finding, and finding it would cost the square.
  if (image.segments().size() * sizeof(Elf64_Phdr) > 4096) return {};
  return Reconstruction(image).run();
}

}  // namespace sframe_gen::elf
