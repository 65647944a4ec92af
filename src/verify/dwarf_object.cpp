#include "verify/dwarf_object.hpp"

#include <dwarf.h>
#include <libdwarf.h>

namespace sframe_gen::verify {

namespace {

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
using ObjectMethods = Dwarf_Obj_Access_Methods_a;
using ObjectSection = Dwarf_Obj_Access_Section_a;
using SectionIndex = Dwarf_Unsigned;
#else
using ObjectMethods = Dwarf_Obj_Access_Methods;
using ObjectSection = Dwarf_Obj_Access_Section;
using SectionIndex = Dwarf_Half;
#endif

struct OneSection {
  const char* name;
  std::span<const std::byte> bytes;
  std::uint64_t address;
  Endian endian;
};

const OneSection& section_of(void* object) {
  return *static_cast<const OneSection*>(object);
}

int section_info(void* object, SectionIndex index, ObjectSection* result, int* /*error*/) {
  *result = {};
  if (index > 1) return DW_DLV_NO_ENTRY;
  const OneSection& section = section_of(object);
  const bool real = index == 1;
#if SFRAME_GEN_LIBDWARF_INTERFACE_A
  result->as_name = real ? section.name : "";
  result->as_addr = real ? section.address : 0;
  result->as_size = real ? section.bytes.size() : 0;
  result->as_type = real ? 1 : 0;
#else
  result->name = real ? section.name : "";
  result->addr = real ? section.address : 0;
  result->size = real ? section.bytes.size() : 0;
  result->type = real ? 1 : 0;
#endif
  return DW_DLV_OK;
}

int load_section(void* object, SectionIndex index, Dwarf_Small** data, int* /*error*/) {
  if (index != 1) return DW_DLV_NO_ENTRY;
  // libdwarf takes a pointer to non-const, and writes to it only to relocate, which is not asked for.
  *data = reinterpret_cast<Dwarf_Small*>(const_cast<std::byte*>(section_of(object).bytes.data()));
  return DW_DLV_OK;
}

Dwarf_Unsigned section_count(void* /*object*/) {
  return 2;
}
Dwarf_Small eight(void* /*object*/) {
  return 8;
}
Dwarf_Small four(void* /*object*/) {
  return 4;
}

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
Dwarf_Small byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_END_big : DW_END_little;
}
Dwarf_Unsigned file_size(void* object) {
  return section_of(object).bytes.size();
}
constexpr ObjectMethods methods{section_info, byte_order, four, eight, file_size, section_count, load_section, nullptr};
#else
Dwarf_Endianness byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}
constexpr ObjectMethods methods{section_info, byte_order, four, eight, section_count, load_section, nullptr};
#endif

}  // namespace

struct DwarfObject::Parts {
  OneSection section;
  DwarfObjectInterface interface;
};

DwarfObject::DwarfObject(const char* name, std::span<const std::byte> bytes, std::uint64_t address, Endian endian)
    : parts_(std::make_unique<Parts>(Parts{{name, bytes, address, endian}, {}})) {
  parts_->interface = {&parts_->section, &methods};
}

DwarfObject::~DwarfObject() = default;

DwarfObjectInterface* DwarfObject::interface() {
  return &parts_->interface;
}

}  // namespace sframe_gen::verify
