#include "elf/image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

#include "elf/compressed_section.hpp"
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

Range Image::section_table() const {
  if (!has_section_headers()) return {};
  return {header_.e_shoff, header_.e_shoff + section_count_ * sizeof(Elf64_Shdr)};
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
