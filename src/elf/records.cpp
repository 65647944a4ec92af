#include "elf/records.hpp"

#include <cstring>

namespace sframe_gen::elf {

namespace {

/// These call `visit` with each number of a record.
template <typename Visitor>
void visit_fields(Elf64_Ehdr& h, Visitor visit) {
  visit(h.e_type), visit(h.e_machine), visit(h.e_version), visit(h.e_entry), visit(h.e_phoff), visit(h.e_shoff);
  visit(h.e_flags), visit(h.e_ehsize), visit(h.e_phentsize), visit(h.e_phnum), visit(h.e_shentsize);
  visit(h.e_shnum), visit(h.e_shstrndx);
}

template <typename Visitor>
void visit_fields(Elf64_Phdr& p, Visitor visit) {
  visit(p.p_type), visit(p.p_flags), visit(p.p_offset), visit(p.p_vaddr), visit(p.p_paddr);
  visit(p.p_filesz), visit(p.p_memsz), visit(p.p_align);
}

template <typename Visitor>
void visit_fields(Elf64_Shdr& s, Visitor visit) {
  visit(s.sh_name), visit(s.sh_type), visit(s.sh_flags), visit(s.sh_addr), visit(s.sh_offset), visit(s.sh_size);
  visit(s.sh_link), visit(s.sh_info), visit(s.sh_addralign), visit(s.sh_entsize);
}

/// Turns a record between the host's byte order and another, either way.
template <typename Record>
Record reordered(Record record, Endian endian) {
  visit_fields(record, [&]<typename T>(T& field) { field = load<T>(std::as_bytes(std::span(&field, 1)), endian); });
  return record;
}

template <typename Record>
Record load_record(std::span<const std::byte> bytes, Endian endian) {
  Record record{};
  std::memcpy(&record, bytes.data(), sizeof record);
  return reordered(record, endian);
}

template <typename Record>
void store_record(std::span<std::byte> bytes, const Record& record, Endian endian) {
  const Record stored = reordered(record, endian);
  std::memcpy(bytes.data(), &stored, sizeof stored);
}

}  // namespace

Elf64_Ehdr load_header(std::span<const std::byte> bytes, Endian endian) {
  return load_record<Elf64_Ehdr>(bytes, endian);
}

Elf64_Phdr load_segment(std::span<const std::byte> bytes, Endian endian) {
  return load_record<Elf64_Phdr>(bytes, endian);
}

Elf64_Shdr load_section(std::span<const std::byte> bytes, Endian endian) {
  return load_record<Elf64_Shdr>(bytes, endian);
}

void store_header(std::span<std::byte> bytes, const Elf64_Ehdr& header, Endian endian) {
  store_record(bytes, header, endian);
}

void store_segment(std::span<std::byte> bytes, const Elf64_Phdr& segment, Endian endian) {
  store_record(bytes, segment, endian);
}

void store_section(std::span<std::byte> bytes, const Elf64_Shdr& section, Endian endian) {
  store_record(bytes, section, endian);
}

}  // namespace sframe_gen::elf
