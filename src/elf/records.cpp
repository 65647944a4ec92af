#include "elf/records.hpp"

#include <cstring>

namespace sframe_gen::elf {

namespace {

/// Walks a record's fields in file order, either way.
class FieldLoader {
 public:
  FieldLoader(std::span<const std::byte> bytes, Endian endian) : bytes_(bytes), endian_(endian) {}
  template <typename T>
  void operator()(T& field) {
    field = load<T>(bytes_, endian_);
    bytes_ = bytes_.subspan(sizeof(T));
  }

 private:
  std::span<const std::byte> bytes_;
  Endian endian_;
};

class FieldStorer {
 public:
  FieldStorer(std::span<std::byte> bytes, Endian endian) : bytes_(bytes), endian_(endian) {}
  template <typename T>
  void operator()(const T& field) {
    store<T>(bytes_, field, endian_);
    bytes_ = bytes_.subspan(sizeof(T));
  }

 private:
  std::span<std::byte> bytes_;
  Endian endian_;
};

template <typename Visitor, typename Record>
void visit_header(Visitor& visit, Record& h) {
  visit(h.e_type), visit(h.e_machine), visit(h.e_version), visit(h.e_entry), visit(h.e_phoff), visit(h.e_shoff);
  visit(h.e_flags), visit(h.e_ehsize), visit(h.e_phentsize), visit(h.e_phnum), visit(h.e_shentsize);
  visit(h.e_shnum), visit(h.e_shstrndx);
}

template <typename Visitor, typename Record>
void visit_segment(Visitor& visit, Record& p) {
  visit(p.p_type), visit(p.p_flags), visit(p.p_offset), visit(p.p_vaddr), visit(p.p_paddr);
  visit(p.p_filesz), visit(p.p_memsz), visit(p.p_align);
}

template <typename Visitor, typename Record>
void visit_section(Visitor& visit, Record& s) {
  visit(s.sh_name), visit(s.sh_type), visit(s.sh_flags), visit(s.sh_addr), visit(s.sh_offset), visit(s.sh_size);
  visit(s.sh_link), visit(s.sh_info), visit(s.sh_addralign), visit(s.sh_entsize);
}

}  // namespace

Elf64_Ehdr load_header(std::span<const std::byte> bytes, Endian endian) {
  Elf64_Ehdr header{};
  std::memcpy(static_cast<void*>(header.e_ident), bytes.data(), EI_NIDENT);
  FieldLoader loader(bytes.subspan(EI_NIDENT), endian);
  visit_header(loader, header);
  return header;
}

Elf64_Phdr load_segment(std::span<const std::byte> bytes, Endian endian) {
  Elf64_Phdr segment{};
  FieldLoader loader(bytes, endian);
  visit_segment(loader, segment);
  return segment;
}

Elf64_Shdr load_section(std::span<const std::byte> bytes, Endian endian) {
  Elf64_Shdr section{};
  FieldLoader loader(bytes, endian);
  visit_section(loader, section);
  return section;
}

void store_header(std::span<std::byte> bytes, const Elf64_Ehdr& header, Endian endian) {
  std::memcpy(bytes.data(), static_cast<const void*>(header.e_ident), EI_NIDENT);
  FieldStorer storer(bytes.subspan(EI_NIDENT), endian);
  visit_header(storer, header);
}

void store_segment(std::span<std::byte> bytes, const Elf64_Phdr& segment, Endian endian) {
  FieldStorer storer(bytes, endian);
  visit_segment(storer, segment);
}

void store_section(std::span<std::byte> bytes, const Elf64_Shdr& section, Endian endian) {
  FieldStorer storer(bytes, endian);
  visit_section(storer, section);
}

}  // namespace sframe_gen::elf
