#include "elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace judge {

std::uint64_t Cursor::unsigned_leb() {
  std::uint64_t value = 0;
  std::uint8_t byte = 0;
  unsigned shift = 0;
  do {
    byte = take<std::uint8_t>();
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    shift += 7;
  } while ((byte & 0x80U) != 0);
  return value;
}

std::int64_t Cursor::signed_leb() {
  std::uint64_t value = 0;
  std::uint8_t byte = 0;
  unsigned shift = 0;
  do {
    byte = take<std::uint8_t>();
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    shift += 7;
  } while ((byte & 0x80U) != 0);
  if (shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
  return static_cast<std::int64_t>(value);
}

std::uint64_t Cursor::unsigned_of(std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, skip(size), size);
  return value;
}

std::int64_t Cursor::signed_of(std::size_t size) {
  const auto unused = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::int64_t>(unsigned_of(size) << unused) >> unused;
}

std::string_view Cursor::string() {
  const auto* const end = static_cast<const std::uint8_t*>(std::memchr(at_, 0, left()));
  if (end == nullptr) throw std::runtime_error("a string has no end");
  const auto size = static_cast<std::size_t>(end - at_);
  return {reinterpret_cast<const char*>(skip(size + 1)), size};
}

ElfFile::ElfFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) throw std::runtime_error("cannot be read");
  size_ = static_cast<std::size_t>(status.st_size);
  void* const mapped = size_ == 0 ? MAP_FAILED : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot be read");
  bytes_ = static_cast<const std::uint8_t*>(mapped);
  if (size_ < sizeof header_ || std::memcmp(bytes_, ELFMAG, SELFMAG) != 0) throw std::runtime_error("not an ELF file");
  std::memcpy(&header_, bytes_, sizeof header_);
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != EM_X86_64)
    throw std::runtime_error("not a file of x86-64");
}

ElfFile::~ElfFile() {
  ::munmap(const_cast<std::uint8_t*>(bytes_), size_);
}

ElfFile::Part ElfFile::part_at(std::uint64_t offset, std::uint64_t size, std::uint64_t address) const {
  if (offset > size_ || size > size_ - offset) throw std::runtime_error("a header leads out of the file");
  return {address, bytes_ + offset, size};
}

template <typename Header>
std::vector<Header> ElfFile::headers(std::uint64_t offset, std::uint64_t count) const {
  std::vector<Header> result(count);
  const Part part = part_at(offset, count * sizeof(Header), 0);
  if (count != 0) std::memcpy(result.data(), part.bytes, part.size);
  return result;
}

std::optional<ElfFile::Part> ElfFile::section(std::string_view name) const {
  if (header_.e_shnum == 0) return std::nullopt;
  const auto sections = headers<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
  const Elf64_Shdr& names = sections.at(header_.e_shstrndx);
  for (const Elf64_Shdr& section : sections) {
    Cursor text = part_at(names.sh_offset, names.sh_size, 0).cursor();
    text.skip(section.sh_name);
    if (section.sh_type != SHT_NOBITS && text.string() == name)
      return part_at(section.sh_offset, section.sh_size, section.sh_addr);
  }
  return std::nullopt;
}

std::optional<ElfFile::Part> ElfFile::segment(std::uint32_t type) const {
  for (const auto& segment : headers<Elf64_Phdr>(header_.e_phoff, header_.e_phnum))
    if (segment.p_type == type) return part_at(segment.p_offset, segment.p_filesz, segment.p_vaddr);
  return std::nullopt;
}

std::vector<Segment> ElfFile::loads() const {
  std::vector<Segment> result;
  for (const auto& segment : headers<Elf64_Phdr>(header_.e_phoff, header_.e_phnum))
    if (segment.p_type == PT_LOAD) result.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
  return result;
}

void FileRows::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  const RowsHeader header{ROWS_MAGIC, segments.size(), rows.size()};
  const auto put = [&](const void* bytes, std::size_t size) {
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  };
  put(&header, sizeof header);
  put(segments.data(), segments.size() * sizeof(Segment));
  put(rows.data(), rows.size() * sizeof(Row));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

FileRows FileRows::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  RowsHeader header{};
  const auto get = [&](void* bytes, std::size_t size) {
    if (!file.read(static_cast<char*>(bytes), static_cast<std::streamsize>(size)))
      throw std::runtime_error(path + " is no file of rows");
  };
  get(&header, sizeof header);
  if (header.magic != ROWS_MAGIC) throw std::runtime_error(path + " is no file of rows");
  FileRows result;
  result.segments.resize(header.segments);
  result.rows.resize(header.rows);
  get(result.segments.data(), header.segments * sizeof(Segment));
  get(result.rows.data(), header.rows * sizeof(Row));
  return result;
}

std::uint64_t FileRows::bytes() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows) sum += row.end - row.begin;
  return sum;
}

std::size_t put_in_order(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, {}, &Row::begin);
  std::size_t overlaps = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].begin >= rows[i - 1].end) continue;
    ++overlaps;
    rows[i - 1].end = rows[i].begin;
  }
  std::erase_if(rows, [](const Row& row) { return row.begin >= row.end; });
  return overlaps;
}

}  // namespace judge
