#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/records.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::elf {

/// Why a file that does not start as ELF files do cannot be done: names what people take for an object or a module, a
/// compressed one or LLVM's intermediate code, and what to do about it.
std::string why_not_elf(std::span<const std::byte> bytes);

struct Section {
  Elf64_Shdr header;  ///< in host byte order
  std::string name;
  std::uint32_t index;  ///< in the section header table
};

/// A 64-bit ELF file, mapped and with its tables read into host byte order.
///
/// The tables are checked to lie in the file; what they point at is checked where it is used (`bytes_of`). Throws
/// MalformedInput or SystemFailure, and Refused for what is not a 64-bit ELF file. Extended numbering (e_shnum 0,
/// e_shstrndx SHN_XINDEX, e_phnum PN_XNUM: gABI chapter 4) is resolved. A program or library without section headers
/// gets made-up sections from elf/headerless.
class Image {
 public:
  static Image open(const std::filesystem::path& path);
  /// A file that is open already; `name` is for messages.
  static Image open(int descriptor, const std::string& name);
  /// Bytes in memory that outlive the image: a member of an archive, an output that is not written yet.
  static Image of_bytes(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  Endian endian() const { return endian_; }
  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }
  std::uint32_t section_name_table_index() const { return section_name_table_index_; }
  bool has_section_headers() const { return section_count_ != 0; }
  /// Where the program headers are in the file.
  Range segment_table() const { return {header_.e_phoff, header_.e_phoff + segments_.size() * sizeof(Elf64_Phdr)}; }
  /// Where the section headers are; empty where there are none, whatever e_shoff says.
  Range section_table() const;

  std::span<const std::byte> file_bytes() const { return bytes_; }
  /// The file that was opened; not for bytes in memory.
  const MappedFile& file() const { return file_.value(); }
  bool is_file() const { return file_.has_value(); }
  int descriptor() const { return file().descriptor(); }

  /// Whether it is a relocatable object (ET_REL). Its sections then have made-up addresses (assign_addresses).
  bool is_object() const { return header_.e_type == ET_REL; }
  /// Section header `index` as it stands in the file.
  Elf64_Shdr header_in_file(std::uint32_t index) const;

  const Section* find_section(std::string_view name) const;
  const Elf64_Phdr* find_segment(std::uint32_t type) const;

  /// The section's bytes in the file; empty for SHT_NOBITS and SHT_NULL. Throws MalformedInput when they lie outside
  /// the file.
  std::span<const std::byte> bytes_of(const Section& section) const;
  /// As `bytes_of`, decompressed where SHF_COMPRESSED says so; `storage` then holds the bytes.
  std::span<const std::byte> contents_of(const Section& section, std::vector<std::byte>& storage) const;

  /// Bytes [file_offset, file_offset + size), or MalformedInput that names `what`.
  std::span<const std::byte> slice(std::uint64_t file_offset, std::uint64_t size, const char* what) const;

  /// Whether [address, address + size) is code: inside one executable section (or, without section headers, inside
  /// one executable PT_LOAD), and, except in an object, inside one executable PT_LOAD.
  bool is_code(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t left = code_left(address);
    return left != 0 && size <= left;
  }
  /// Whether all of the section is, and the file has its bytes.
  bool is_code(const Section& section) const;
  /// Bytes from `address` to where such a range ends; 0 outside all of them.
  std::uint64_t code_left(std::uint64_t address) const;
  /// Where the first such range after `address` begins.
  std::optional<std::uint64_t> code_after(std::uint64_t address) const;
  /// All of them, ascending. Those of a damaged file may overlap.
  const std::vector<Range>& code() const { return code_; }

 private:
  Image() = default;
  static Image of_file(MappedFile file);
  void read_header();
  void count_sections();
  void read_segments();
  void read_sections();
  void find_code();

  std::optional<MappedFile> file_;
  std::span<const std::byte> bytes_;
  std::string name_;
  Endian endian_ = Endian::Little;
  Elf64_Ehdr header_{};
  std::uint64_t segment_count_ = 0;
  std::uint64_t section_count_ = 0;
  std::uint32_t section_name_table_index_ = 0;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
  std::vector<Range> code_;  ///< as code() gives it
};

}  // namespace sframe_gen::elf

/// Which PT_LOAD or section holds an address or a file offset. check/ comes here for bytes only, and finds the PT_LOADs
/// of its rules by itself: it judges what the others made of these answers.
namespace sframe_gen::elf {

constexpr bool holds_address(const Elf64_Phdr& segment, std::uint64_t address) {
  return address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
}

constexpr bool holds_offset(const Elf64_Phdr& segment, std::uint64_t offset) {
  return offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz;
}

constexpr bool holds_address(const Elf64_Shdr& section, std::uint64_t address) {
  return address >= section.sh_addr && address - section.sh_addr < section.sh_size;
}

/// The bytes in the file that a header says it is for.
constexpr Range file_range(const Elf64_Shdr& section) {
  return {section.sh_offset, section.sh_offset + section.sh_size};
}
constexpr Range file_range(const Elf64_Phdr& segment) {
  return {segment.p_offset, segment.p_offset + segment.p_filesz};
}

/// Whether the section is loaded as part of the segment: its bytes are the segment's, at the address where they stand.
bool holds_section(const Elf64_Phdr& segment, const Elf64_Shdr& section);

/// Index of the first PT_LOAD with file bytes at `offset`.
std::optional<std::size_t> find_load_at_offset(const Image& image, std::uint64_t offset);

/// The PT_LOAD that holds an address whose bytes stand at `offset`: at the border of two PT_LOADs both may hold the
/// address, and the offset decides. Null where there is none.
const Elf64_Phdr* find_load(const Image& image, std::uint64_t address, std::uint64_t size, std::uint64_t offset);

/// The PT_GNU_SFRAME that Linux uses, of several the last; null where there is none.
const Elf64_Phdr* find_sframe_segment(const Image& image);

/// The bytes that the file has from a virtual address on, up to the end of the PT_LOAD's file bytes that hold it; empty
/// where there are none. Believes nothing: a PT_LOAD outside the file holds nothing.
std::span<const std::byte> loaded_bytes_from(const Image& image, std::uint64_t address);

/// The same, of a given size; empty where the file does not have all of it.
std::span<const std::byte> loaded_bytes(const Image& image, std::uint64_t address, std::uint64_t size);

/// Where in the file such bytes stand.
std::uint64_t offset_of(const Image& image, std::span<const std::byte> bytes);

/// The loaded sections of a relocatable object, by the addresses of assign_addresses(). The image must outlive it.
class SectionsByAddress {
 public:
  explicit SectionsByAddress(const Image& object);
  /// The section that holds `address`, or ends there: no two sections touch. Null: there is none.
  const Section* find(std::uint64_t address) const;

 private:
  std::vector<const Section*> sections_;
};

/// Gives each loaded section of a relocatable object an address that no other shares, as if it was linked alone, so
/// that an address names a place in its code. No two sections touch: the end of one is not the start of another. Code
/// comes first, then the tables that refer to it: data of any size between .eh_frame and the code would take the one
/// out of the other's 32-bit reach; then data, and last what has no bytes in the file. Sections that are not loaded get
/// address 0, by which relocations against .debug_* count. The same flags, sizes and order give the same addresses, so
/// an object and its separate debug file agree. Throws MalformedInput where the sizes do not fit in the address space.
void assign_addresses(std::vector<Section>& sections, const std::string& name);

}  // namespace sframe_gen::elf
