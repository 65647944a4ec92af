#include "cfi/dwarf_register.hpp"

#include <elf.h>

namespace sframe_gen::cfi {

const TrackedRegisters* find_tracked_registers(std::uint16_t elf_machine) {
  switch (elf_machine) {
    case EM_X86_64:
      return &amd64::tracked;
    case EM_AARCH64:
      return &aarch64::tracked;
    case EM_S390:
      return &s390x::tracked;
    default:
      return nullptr;
  }
}

}  // namespace sframe_gen::cfi
