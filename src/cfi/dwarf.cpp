#include "cfi/dwarf.hpp"

namespace sframe_gen::cfi {

const TrackedRegisters& tracked_registers(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return aarch64::tracked;
    case sframe::Abi::S390x:
      return s390x::tracked;
    case sframe::Abi::Amd64:
      break;
  }
  return amd64::tracked;
}

}  // namespace sframe_gen::cfi
