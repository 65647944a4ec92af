#include "sframe/format.hpp"

namespace sframe_gen::sframe {

std::string_view name_of(Abi abi) {
  switch (abi) {
    case Abi::Aarch64Big:
      return "AArch64 (big-endian)";
    case Abi::Aarch64Little:
      return "AArch64";
    case Abi::Amd64:
      return "AMD64";
    case Abi::S390x:
      return "s390x";
  }
  return {};
}

bool is_machine_register(Abi abi, std::uint32_t number) {
  switch (abi) {
    case Abi::Amd64:
      // 16 is the return address column, which stands for rip by convention only.
      return number != amd64_traits.return_address && number < register_number_limit;
    case Abi::Aarch64Big:
    case Abi::Aarch64Little:
      // x0 to x30 and sp, v0 to v31; between them pc, ELR_mode, RA_SIGN_STATE, TPIDRRO, VG, FFR, predicates.
      return number <= 31 || (number >= 64 && number <= 95);
    case Abi::S390x:
      // General, floating-point, control and access registers, vector registers; 64 and 65 are the PSW.
      return number <= 63 || (number >= 68 && number <= 83);
  }
  return false;
}

std::string_view name_of(Version version) {
  return traits_of(version).name;
}

}  // namespace sframe_gen::sframe
