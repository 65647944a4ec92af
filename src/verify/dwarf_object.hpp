#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "support/endian.hpp"

// Two generations of one interface: 20210528 (Debian 12) against 0.4 and later. Same calls, other types.
#if SFRAME_GEN_LIBDWARF_INTERFACE_A
struct Dwarf_Obj_Access_Interface_a_s;
#else
struct Dwarf_Obj_Access_Interface_s;
#endif

namespace sframe_gen::verify {

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
using DwarfObjectInterface = Dwarf_Obj_Access_Interface_a_s;
#else
using DwarfObjectInterface = Dwarf_Obj_Access_Interface_s;
#endif

/// What libdwarf takes for an object file: section 0, which is nothing, and section 1, one of CFI. libdwarf never sees
/// the ELF file.
class DwarfObject {
 public:
  /// `name` and `bytes` must outlive it.
  DwarfObject(const char* name, std::span<const std::byte> bytes, std::uint64_t address, Endian endian);
  ~DwarfObject();
  DwarfObject(const DwarfObject&) = delete;
  DwarfObject& operator=(const DwarfObject&) = delete;

  DwarfObjectInterface* interface();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sframe_gen::verify
