#include "object/relocation_type.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace sframe_gen::object {

namespace {

/// Not in the <elf.h> of glibc 2.36.
constexpr std::uint32_t relocation_aarch64_plt32 = 314, relocation_aarch64_gotpcrel32 = 315;

struct Known {
  std::uint16_t machine = EM_NONE;
  std::uint32_t number = 0;
  RelocationType type;
};

constexpr std::array known_types{
    Known{EM_X86_64, R_X86_64_NONE, {}},
    Known{EM_X86_64, R_X86_64_64, {Form::Absolute, 8}},
    Known{EM_X86_64, R_X86_64_PC32, {Form::PcRelative, 4}},
    Known{EM_X86_64, R_X86_64_32, {Form::Absolute, 4}},
    Known{EM_X86_64, R_X86_64_32S, {Form::Absolute, 4}},
    Known{EM_X86_64, R_X86_64_PC64, {Form::PcRelative, 8}},
    Known{EM_X86_64, R_X86_64_PLT32, {}},
    Known{EM_X86_64, R_X86_64_GOTPCREL, {}},
    Known{EM_X86_64, R_X86_64_GOTPCREL64, {}},
    Known{EM_AARCH64, R_AARCH64_NONE, {}},
    Known{EM_AARCH64, R_AARCH64_ABS64, {Form::Absolute, 8}},
    Known{EM_AARCH64, R_AARCH64_ABS32, {Form::Absolute, 4}},
    Known{EM_AARCH64, R_AARCH64_PREL64, {Form::PcRelative, 8}},
    Known{EM_AARCH64, R_AARCH64_PREL32, {Form::PcRelative, 4}},
    Known{EM_AARCH64, relocation_aarch64_plt32, {}},
    Known{EM_AARCH64, relocation_aarch64_gotpcrel32, {}},
    Known{EM_S390, R_390_NONE, {}},
    Known{EM_S390, R_390_64, {Form::Absolute, 8}},
    Known{EM_S390, R_390_32, {Form::Absolute, 4}},
    Known{EM_S390, R_390_PC64, {Form::PcRelative, 8}},
    Known{EM_S390, R_390_PC32, {Form::PcRelative, 4}},
    Known{EM_S390, R_390_PLT32, {}},
    Known{EM_S390, R_390_PLT64, {}},
};

}  // namespace

std::optional<RelocationType> find_relocation_type(std::uint16_t machine, std::uint32_t number) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.machine == machine && known.number == number;
  });
  if (found == known_types.end()) return {};
  return found->type;
}

std::uint32_t pc_relative_relocation(std::uint16_t machine, std::uint8_t size) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.machine == machine && known.type.form == Form::PcRelative && known.type.size == size;
  });
  assert(found != known_types.end());
  return found->number;
}

}  // namespace sframe_gen::object
