#include "elf/headerless/reconstruct.hpp"

#include <algorithm>
#include <cstring>

#include "elf/alignment.hpp"
#include "elf/headerless/dynamic_sections.hpp"
#include "elf/headerless/eh_frame_finder.hpp"
#include "elf/load_lookup.hpp"
#include "elf/new_section.hpp"
#include "elf/records.hpp"
#include "elf/undo/undo_format.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::elf {

namespace {

FileRange range_of(const Section& section) {
  return {section.header.sh_offset, section.header.sh_offset + section.header.sh_size};
}

FileRange range_of(const Elf64_Phdr& segment) {
  return {segment.p_offset, segment.p_offset + segment.p_filesz};
}

/// What linkers call a section of this note: movable.cpp knows some by name.
const char* name_of_note(const std::string& owner, std::uint32_t type) {
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
    sort();
    add_unknown();
    sort();
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
      if ((segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY) && is_in_file(segment))
        notes.push_back(segment);
    std::stable_sort(notes.begin(), notes.end(),
                     [](const Elf64_Phdr& a, const Elf64_Phdr& b) { return a.p_offset < b.p_offset; });
    for (std::size_t i = 0; i < notes.size();) {
      Elf64_Phdr all = notes[i];
      for (++i; i < notes.size() && range_of(all).overlaps(range_of(notes[i])); ++i)
        all.p_filesz = std::max(range_of(all).end, range_of(notes[i]).end) - all.p_offset;
      add_each_note(all);
    }
  }

  /// A section each: a PT_NOTE of mold holds some that are padded to 8 bytes and some that are padded to 4.
  void add_each_note(const Elf64_Phdr& segment) {
    const Origin origin{image_.name(), "PT_NOTE"};
    ByteReader reader(image_.slice(segment.p_offset, segment.p_filesz, "PT_NOTE"), image_.endian(), origin);
    const auto pad = [&] { reader.take(std::min(reader.left(), (0 - reader.offset()) % 4), "padding"); };
    try {
      while (reader.left() >= sizeof(Elf64_Nhdr)) {
        const std::uint64_t begin = reader.offset();
        const std::uint32_t name_size = reader.u32("name size of a note");
        // No note has no name: this is padding.
        if (name_size == 0) continue;
        const std::uint32_t size = reader.u32("descriptor size of a note");
        const std::uint32_t type = reader.u32("type of a note");
        const auto name = reader.take(name_size, "name of a note");
        const auto* const text = reinterpret_cast<const char*>(name.data());
        pad();
        reader.take(size, "descriptor of a note");
        pad();
        Elf64_Phdr note = segment;
        note.p_offset += begin;
        note.p_vaddr += begin;
        note.p_filesz = reader.offset() - begin;
        const bool is_property = type == NT_GNU_PROPERTY_TYPE_0 && note.p_filesz % 8 == 0;
        add(name_of_note(std::string(text, ::strnlen(text, name_size)), type), SHT_NOTE, note, is_property ? 8 : 4);
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
      for (const Section& section : dynamic_sections(image_)) sections_.push_back(section);
    } catch (const MalformedInput&) {
      // Then its tables are as unknown as the rest; whoever needs PT_DYNAMIC says what is wrong.
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
    const auto claim = [&](std::uint64_t begin, std::uint64_t size) {
      known.push_back({{0, SHT_PROGBITS, 0, 0, begin, size, 0, 0, 8, 0}, {}, 0});
    };
    claim(0, sizeof(Elf64_Ehdr));
    claim(image_.header().e_phoff, image_.segments().size() * sizeof(Elf64_Phdr));
    std::stable_sort(known.begin(), known.end(),
                     [](const Section& a, const Section& b) { return a.header.sh_offset < b.header.sh_offset; });
    for (const Elf64_Phdr& load : image_.segments()) {
      if (load.p_type != PT_LOAD || !is_in_file(load)) continue;
      const FileRange bytes = range_of(load);
      std::uint64_t done = bytes.begin;
      for (const Section& section : known) {
        const FileRange range = range_of(section);
        if (range.end <= done || range.begin >= bytes.end) continue;
        if (done < range.begin && !is_padding({done, range.begin}, section.header.sh_addralign))
          add_unknown(load, {done, range.begin});
        done = range.end;
      }
      if (done < bytes.end) add_unknown(load, {done, bytes.end});
    }
  }

  bool is_padding(FileRange gap, std::uint64_t alignment) const {
    if (gap.end - gap.begin >= alignment) return false;
    const auto bytes = image_.file_bytes().subspan(gap.begin, gap.end - gap.begin);
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  void add_unknown(const Elf64_Phdr& load, FileRange range) {
    std::uint64_t flags = SHF_ALLOC;
    if ((load.p_flags & PF_W) != 0) flags |= SHF_WRITE;
    if ((load.p_flags & PF_X) != 0) flags |= SHF_EXECINSTR;
    sections_.push_back({{0, SHT_PROGBITS, flags, load.p_vaddr + (range.begin - load.p_offset), range.begin,
                          range.end - range.begin, 0, 0, 1, 0},
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

  void sort() {
    std::stable_sort(sections_.begin(), sections_.end(),
                     [](const Section& a, const Section& b) { return a.header.sh_offset < b.header.sh_offset; });
  }

  void number() {
    const auto find = [&](std::uint32_t type) {
      const auto found = std::find_if(sections_.begin(), sections_.end(),
                                      [&](const Section& section) { return section.header.sh_type == type; });
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

std::vector<Section> reconstruct_sections(const Image& image) {
  const Elf64_Half type = image.header().e_type;
  if (image.find_segment(PT_LOAD) == nullptr || (type != ET_EXEC && type != ET_DYN)) return {};
  // More than check_headers lets through: nothing is worth finding, and finding it would cost the square.
  if (image.segments().size() * sizeof(Elf64_Phdr) > 4096) return {};
  return Reconstruction(image).run();
}

}  // namespace sframe_gen::elf
