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
  elf::Architecture architecture = elf::Architecture::Amd64;
  std::uint32_t number = 0;
  RelocationType type;
};

constexpr auto amd64 = elf::Architecture::Amd64;
constexpr auto aarch64 = elf::Architecture::AArch64;
constexpr auto s390x = elf::Architecture::S390x;

constexpr std::array known_types{
    Known{amd64, R_X86_64_NONE, {}},
    Known{amd64, R_X86_64_64, {Form::Absolute, 8}},
    Known{amd64, R_X86_64_PC32, {Form::PcRelative, 4}},
    Known{amd64, R_X86_64_32, {Form::Absolute, 4}},
    Known{amd64, R_X86_64_32S, {Form::Absolute, 4}},
    Known{amd64, R_X86_64_PC64, {Form::PcRelative, 8}},
    Known{amd64, R_X86_64_PLT32, {}},
    Known{amd64, R_X86_64_GOTPCREL, {}},
    Known{amd64, R_X86_64_GOTPCREL64, {}},
    Known{aarch64, R_AARCH64_NONE, {}},
    Known{aarch64, R_AARCH64_ABS64, {Form::Absolute, 8}},
    Known{aarch64, R_AARCH64_ABS32, {Form::Absolute, 4}},
    Known{aarch64, R_AARCH64_PREL64, {Form::PcRelative, 8}},
    Known{aarch64, R_AARCH64_PREL32, {Form::PcRelative, 4}},
    Known{aarch64, relocation_aarch64_plt32, {}},
    Known{aarch64, relocation_aarch64_gotpcrel32, {}},
    Known{s390x, R_390_NONE, {}},
    Known{s390x, R_390_64, {Form::Absolute, 8}},
    Known{s390x, R_390_32, {Form::Absolute, 4}},
    Known{s390x, R_390_PC64, {Form::PcRelative, 8}},
    Known{s390x, R_390_PC32, {Form::PcRelative, 4}},
    Known{s390x, R_390_PLT32, {}},
    Known{s390x, R_390_PLT64, {}},
};

}  // namespace

std::optional<RelocationType> find_relocation_type(elf::Architecture architecture, std::uint32_t number) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.architecture == architecture && known.number == number;
  });
  if (found == known_types.end()) return {};
  return found->type;
}

std::uint32_t pc_relative_relocation(elf::Architecture architecture, std::uint8_t size) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.architecture == architecture && known.type.form == Form::PcRelative && known.type.size == size;
  });
  assert(found != known_types.end());
  return found->number;
}

}  // namespace sframe_gen::object
