// How an image is made of a file: its header and tables are read, and where section headers are missing, made up.

#include <algorithm>
#include <cstring>
#include <utility>

#include "elf/headerless.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Linux executes no file with more than 64 KiB of them (fs/binfmt_elf.c). For many things that a file has, each is
/// asked. Core files have one for each mapping.
constexpr std::uint64_t most_segments = 65536 / sizeof(Elf64_Phdr);

}  // namespace

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

}  // namespace sframe_gen::elf
