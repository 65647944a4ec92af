#include "elf/own_vdso.hpp"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>

namespace sframe_gen::elf {

OwnVdso own_vdso() {
  const std::uint64_t address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  const auto* const begin =
      reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): the kernel's
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  // The section headers come last.
  return {address, {begin, header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum}};
}

}  // namespace sframe_gen::elf
