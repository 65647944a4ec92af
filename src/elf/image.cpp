#include "elf/image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

#include "elf/compressed_section.hpp"
#include "elf/headerless.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

using namespace std::string_view_literals;

struct OtherFormat {
  std::string_view start;  ///< of the file
  std::string_view why;
};

/// RFC 1952; the .xz file format, 2.1.1.1; RFC 8878; the LZ4 frame format, and the older one that kernel builds use;
/// LLVM bitcode file format, "Magic Numbers" and "Bitcode Wrapper Format" (0x0B17C0DE, little-endian).
constexpr std::array other_formats{
    OtherFormat{"\x1f\x8b"sv, "compressed with gzip; decompress it first (gzip -d)"},
    OtherFormat{"\xfd"
                "7zXZ\0"sv,
                "compressed with xz; decompress it first (xz -d)"},
    OtherFormat{"\x28\xb5\x2f\xfd"sv, "compressed with zstd; decompress it first (zstd -d)"},
    OtherFormat{"\x04\x22\x4d\x18"sv, "compressed with lz4; decompress it first (lz4 -d)"},
    OtherFormat{"\x02\x21\x4c\x18"sv, "compressed with lz4; decompress it first (lz4 -d)"},
    OtherFormat{"BZh"sv, "compressed with bzip2; decompress it first (bzip2 -d)"},
    OtherFormat{"BC\xc0\xde"sv, "LLVM bitcode, not machine code; convert what it is linked into"},
    OtherFormat{"\xde\xc0\x17\x0b"sv, "LLVM bitcode, not machine code; convert what it is linked into"},
};

/// No section starts at 0, where linkers and assemblers put what has no place.
constexpr std::uint64_t first_address = 0x10000;
constexpr std::uint64_t gap = 16;  ///< bytes, and what addresses are multiples of
constexpr int last_rank = 3;

/// Returns how many kinds of sections come before this one.
int rank_of(const Section& section) {
  if ((section.header.sh_flags & SHF_EXECINSTR) != 0) return 0;
  if (section.name == ".eh_frame" || section.name == ".sframe") return 1;
  return section.header.sh_type != SHT_NOBITS ? 2 : last_rank;
}

bool has_bytes(const Section& section) {
  return section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL;
}

/// Tells whether one of several ranges contains another one. They may be as many as the sections, and overlap.
class FarthestEnds {
 public:
  explicit FarthestEnds(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    std::ranges::sort(ranges_, {}, &Range::begin);
    for (std::size_t i = 1; i < ranges_.size(); ++i) ranges_[i].end = std::max(ranges_[i].end, ranges_[i - 1].end);
  }

  bool contain(const Range& range) const {
    const auto after = std::ranges::upper_bound(ranges_, range.begin, {}, &Range::begin);
    return after != ranges_.begin() && range.end <= std::prev(after)->end;
  }

 private:
  std::vector<Range> ranges_;  ///< by begin; each ends where the farthest up to it does
};

/// Sections without bytes do not count: a small file could claim gigabytes of code in them.
bool has_code(const Section& section) {
  constexpr std::uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
  return (section.header.sh_flags & wanted) == wanted && section.header.sh_size != 0 && has_bytes(section);
}

/// Linux executes no file with more than 64 KiB of them (fs/binfmt_elf.c). For many things that a file has, each is
/// asked. Core files have one for each mapping.
constexpr std::uint64_t most_segments = 65536 / sizeof(Elf64_Phdr);

}  // namespace

std::string why_not_elf(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto found =
      std::ranges::find_if(other_formats, [&](const OtherFormat& format) { return text.starts_with(format.start); });
  return found == other_formats.end() ? "not an ELF file" : std::string(found->why);
}

bool holds_section(const Elf64_Phdr& segment, const Elf64_Shdr& section) {
  return section.sh_addr >= segment.p_vaddr && section.sh_offset >= segment.p_offset &&
         section.sh_addr - segment.p_vaddr == section.sh_offset - segment.p_offset &&
         section.sh_offset + section.sh_size <= segment.p_offset + segment.p_filesz;
}

std::optional<std::size_t> find_load_at_offset(const Image& image, std::uint64_t offset) {
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    const Elf64_Phdr& segment = image.segments()[i];
    if (segment.p_type == PT_LOAD && holds_offset(segment, offset)) return i;
  }
  return {};
}

const Elf64_Phdr* find_load(const Image& image, std::uint64_t address, std::uint64_t size, std::uint64_t offset) {
  for (const Elf64_Phdr& segment : image.segments()) {
    const bool same_place = segment.p_type == PT_LOAD && address >= segment.p_vaddr && offset >= segment.p_offset &&
                            address - segment.p_vaddr == offset - segment.p_offset;
    if (same_place && address - segment.p_vaddr <= segment.p_memsz &&
        size <= segment.p_memsz - (address - segment.p_vaddr))
      return &segment;
  }
  // .bss's offset need not agree with its address.
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == PT_LOAD && holds_address(segment, address) &&
        size <= segment.p_memsz - (address - segment.p_vaddr))
      return &segment;
  }
  return nullptr;
}

const Elf64_Phdr* find_sframe_segment(const Image& image) {
  const Elf64_Phdr* last = nullptr;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == segment_type_gnu_sframe) last = &segment;
  return last;
}

std::span<const std::byte> loaded_bytes_from(const Image& image, std::uint64_t address) {
  const auto file = image.file_bytes();
  for (const Elf64_Phdr& load : image.segments()) {
    const bool in_file = load.p_offset <= file.size() && load.p_filesz <= file.size() - load.p_offset;
    const std::uint64_t within = address - load.p_vaddr;
    if (load.p_type != PT_LOAD || !in_file || address < load.p_vaddr || within >= load.p_filesz) continue;
    return file.subspan(load.p_offset + within, load.p_filesz - within);
  }
  return {};
}

std::span<const std::byte> loaded_bytes(const Image& image, std::uint64_t address, std::uint64_t size) {
  const auto bytes = loaded_bytes_from(image, address);
  return size <= bytes.size() ? bytes.first(size) : std::span<const std::byte>{};
}

std::uint64_t offset_of(const Image& image, std::span<const std::byte> bytes) {
  return static_cast<std::uint64_t>(bytes.data() - image.file_bytes().data());
}

void assign_addresses(std::vector<Section>& sections, const std::string& name) {
  std::uint64_t next = first_address;
  for (int rank = 0; rank <= last_rank; ++rank) {
    for (Section& section : sections) {
      if ((section.header.sh_flags & SHF_ALLOC) == 0) section.header.sh_addr = 0;
      if ((section.header.sh_flags & SHF_ALLOC) == 0 || rank_of(section) != rank) continue;
      if (next > largest_number || section.header.sh_size > largest_number - next) {
        throw MalformedInput(
            {name, "section header table"}, section.index * sizeof(Elf64_Shdr),
            "section of " + count_of(section.header.sh_size, "byte") + " does not fit in the address space");
      }
      section.header.sh_addr = next;
      next = align_up(next + section.header.sh_size + gap, gap);
    }
  }
}

SectionsByAddress::SectionsByAddress(const Image& object) {
  for (const Section& section : object.sections())
    if ((section.header.sh_flags & SHF_ALLOC) != 0) sections_.push_back(&section);
  std::ranges::sort(sections_, {}, [](const Section* section) { return section->header.sh_addr; });
}

const Section* SectionsByAddress::find(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(sections_, address, {}, [](const Section* section) { return section->header.sh_addr; });
  if (after == sections_.begin()) return nullptr;
  const Section* const section = *std::prev(after);
  return address - section->header.sh_addr <= section->header.sh_size ? section : nullptr;
}

Image Image::open(const std::filesystem::path& path) {
  return of_file(MappedFile(path));
}

Image Image::open(int descriptor, const std::string& name) {
  return of_file(MappedFile(descriptor, name));
}

Image Image::of_file(MappedFile file) {
  Image image = of_bytes(file.bytes(), file.name());
  image.file_ = std::move(file);
  return image;
}

Image Image::of_bytes(std::span<const std::byte> bytes, std::string name) {
  Image image;
  image.bytes_ = bytes;
  image.name_ = std::move(name);
  image.read_header();
  image.read_sections();
  if (image.is_object()) assign_addresses(image.sections_, image.name_);
  image.read_segments();
  if (!image.has_section_headers()) image.sections_ = reconstruct_sections(image);
  image.find_code();
  return image;
}

void Image::read_header() {
  const auto bytes = bytes_;
  const InputOrigin origin{name_, "ELF header"};
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    throw Refused(name_, why_not_elf(bytes));
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    throw MalformedInput(origin, 0,
                         "the header needs " + count_of(sizeof(Elf64_Ehdr), "byte") + ", but the file has only " +
                             std::to_string(bytes.size()));
  }
  const auto identity = [&](std::size_t index) { return std::to_integer<unsigned>(bytes[index]); };
  if (identity(EI_DATA) != ELFDATA2LSB && identity(EI_DATA) != ELFDATA2MSB) {
    throw MalformedInput(origin, EI_DATA, "data encoding " + hex(identity(EI_DATA)) + " is unknown");
  }
  endian_ = identity(EI_DATA) == ELFDATA2LSB ? Endian::Little : Endian::Big;
  if (identity(EI_CLASS) == ELFCLASS32) {
    // The machine stands at the same offset in both classes. x32 and ILP32 are 32-bit files of 64-bit machines.
    const auto machine = load<std::uint16_t>(bytes.subspan(offsetof(Elf64_Ehdr, e_machine)), endian_);
    throw Refused(name_, "32-bit ELF file for " + machine_name(machine) + ", and SFrame has no 32-bit ABI");
  }
  if (identity(EI_CLASS) != ELFCLASS64)
    throw MalformedInput(origin, EI_CLASS, "file class " + hex(identity(EI_CLASS)) + " is unknown");
  header_ = load_header(bytes, endian_);
  if (header_.e_phnum != 0 && header_.e_phentsize != sizeof(Elf64_Phdr)) {
    throw MalformedInput(origin, offsetof(Elf64_Ehdr, e_phentsize),
                         "program header size is " + hex(header_.e_phentsize) + ", not 0x38");
  }
  segment_count_ = header_.e_phnum;
  count_sections();
  // What takes section headers away may leave this as it was, too.
  if (!has_section_headers()) section_name_table_index_ = SHN_UNDEF;
  if (has_section_headers() && header_.e_shentsize != sizeof(Elf64_Shdr)) {
    throw MalformedInput(origin, offsetof(Elf64_Ehdr, e_shentsize),
                         "section header size is " + hex(header_.e_shentsize) + ", not 0x40");
  }
}

/// Counts beyond 16 bits stand in section header 0 (gABI, chapter 4).
void Image::count_sections() {
  if (header_.e_shoff == 0) return;
  section_count_ = header_.e_shnum;
  section_name_table_index_ = header_.e_shstrndx;
  const bool extended = header_.e_shnum == 0 || header_.e_shstrndx == SHN_XINDEX || header_.e_phnum == PN_XNUM;
  if (!extended) return;
  // What takes section headers away may leave e_shoff as it was, with anything or nothing there.
  const std::uint64_t size = bytes_.size();
  const bool fits = header_.e_shoff <= size && size - header_.e_shoff >= sizeof(Elf64_Shdr);
  if (header_.e_shnum == 0 && !fits) return;
  const Elf64_Shdr first = load_section(slice(header_.e_shoff, sizeof(Elf64_Shdr), "section header 0"), endian_);
  if (header_.e_shnum == 0 && first.sh_type != SHT_NULL) return;
  if (header_.e_shnum == 0) section_count_ = first.sh_size;
  if (header_.e_shstrndx == SHN_XINDEX) section_name_table_index_ = first.sh_link;
  if (header_.e_phnum == PN_XNUM) segment_count_ = first.sh_info;
}

Range Image::section_table() const {
  if (!has_section_headers()) return {};
  return {header_.e_shoff, header_.e_shoff + section_count_ * sizeof(Elf64_Shdr)};
}

void Image::read_segments() {
  if (segment_count_ == 0) return;
  const bool is_loaded = header_.e_type == ET_EXEC || header_.e_type == ET_DYN;
  if (is_loaded && segment_count_ > most_segments)
    throw Refused(name_, count_of(segment_count_, "program header") + ", more than Linux loads");
  const auto table = slice(header_.e_phoff, segment_count_ * sizeof(Elf64_Phdr), "program header table");
  segments_.reserve(segment_count_);
  for (std::uint64_t i = 0; i < segment_count_; ++i) {
    segments_.push_back(load_segment(table.subspan(i * sizeof(Elf64_Phdr)), endian_));
  }
}

void Image::read_sections() {
  if (section_count_ == 0) return;
  const InputOrigin origin{name_, "section header table"};
  if (section_count_ > bytes_.size() / sizeof(Elf64_Shdr)) {
    throw MalformedInput(origin, 0, count_of(section_count_, "section header") + " do not fit in the file");
  }
  const auto table = slice(header_.e_shoff, section_count_ * sizeof(Elf64_Shdr), "section header table");
  sections_.reserve(section_count_);
  for (std::uint32_t i = 0; i < section_count_; ++i) {
    sections_.push_back({load_section(table.subspan(i * sizeof(Elf64_Shdr)), endian_), {}, i});
  }
  if (section_name_table_index_ == SHN_UNDEF) return;
  if (section_name_table_index_ >= section_count_) {
    throw MalformedInput({name_, "ELF header"}, offsetof(Elf64_Ehdr, e_shstrndx),
                         "section name table is section " + std::to_string(section_name_table_index_) +
                             ", but there are only " + std::to_string(section_count_));
  }
  const auto names = bytes_of(sections_[section_name_table_index_]);
  NameBudget budget(bytes_.size());
  for (Section& section : sections_) {
    const auto rest = names.subspan(std::min<std::uint64_t>(section.header.sh_name, names.size()));
    const auto looked_at = rest.first(std::min<std::uint64_t>(rest.size(), budget.left() + 1));
    const auto end = std::find(looked_at.begin(), looked_at.end(), std::byte{0});
    const auto size = static_cast<std::size_t>(end - looked_at.begin());
    if (!budget.take(size)) throw Refused(name_, "section names more than four times as large as the file");
    if (end == looked_at.end()) {
      throw MalformedInput(origin, section.index * sizeof(Elf64_Shdr),
                           "section name at " + hex(section.header.sh_name) +
                               " has no end inside the name table (size " + std::to_string(names.size()) + ")");
    }
    section.name.assign(reinterpret_cast<const char*>(rest.data()), size);
  }
}

std::span<const std::byte> Image::slice(std::uint64_t file_offset, std::uint64_t size, const char* what) const {
  const auto bytes = bytes_;
  if (file_offset > bytes.size() || size > bytes.size() - file_offset) {
    throw MalformedInput({name_, "file"}, file_offset,
                         std::string(what) + " of " + count_of(size, "byte") + " does not fit in the file (size " +
                             std::to_string(bytes.size()) + ")");
  }
  return bytes.subspan(file_offset, size);
}

Elf64_Shdr Image::header_in_file(std::uint32_t index) const {
  const auto place = slice(header_.e_shoff + index * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr), "section header");
  return load_section(place, endian_);
}

const Section* Image::find_section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

const Elf64_Phdr* Image::find_segment(std::uint32_t type) const {
  const auto found =
      std::find_if(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& s) { return s.p_type == type; });
  return found == segments_.end() ? nullptr : &*found;
}

std::span<const std::byte> Image::bytes_of(const Section& section) const {
  if (!has_bytes(section)) return {};
  const Elf64_Shdr& header = section.header;
  if (!section.name.empty()) return slice(header.sh_offset, header.sh_size, section.name.c_str());
  return slice(header.sh_offset, header.sh_size, ("section " + std::to_string(section.index)).c_str());
}

std::span<const std::byte> Image::contents_of(const Section& section, std::vector<std::byte>& storage) const {
  const auto bytes = bytes_of(section);
  const bool is_compressed = (section.header.sh_flags & SHF_COMPRESSED) != 0;
  if (!is_compressed && !section.name.starts_with(".zdebug_")) return bytes;
  const InputOrigin origin{name_, section.name};
  storage = is_compressed ? decompress(bytes, endian_, origin) : decompress_zdebug(bytes, origin);
  return storage;
}

bool Image::is_code(const Section& section) const {
  return has_code(section) && is_code(section.header.sh_addr, section.header.sh_size);
}

void Image::find_code() {
  std::vector<Range> executable;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      executable.push_back({segment.p_vaddr, segment.p_vaddr + segment.p_memsz});
  }
  const FarthestEnds loaded(executable);
  for (const Section& section : sections_) {
    if (!has_section_headers() || !has_code(section)) continue;
    const Range range{section.header.sh_addr, section.header.sh_addr + section.header.sh_size};
    if ((is_object() || loaded.contain(range)) && range.begin < range.end) code_.push_back(range);
  }
  if (!has_section_headers()) code_ = executable;
  std::sort(code_.begin(), code_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::uint64_t Image::code_left(std::uint64_t address) const {
  const auto after = std::upper_bound(code_.begin(), code_.end(), address,
                                      [](std::uint64_t a, const Range& r) { return a < r.begin; });
  if (after == code_.begin()) return 0;
  const Range& range = *std::prev(after);
  return range.contains(address) ? range.end - address : 0;
}

std::optional<std::uint64_t> Image::code_after(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(code_, address, {}, &Range::begin);
  if (after == code_.end()) return {};
  return after->begin;
}

}  // namespace sframe_gen::elf
