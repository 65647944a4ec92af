#include "elf/type_names.hpp"

#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

const char* known_machine(std::uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "EM_386";
    case EM_ARM:
      return "EM_ARM";
    case EM_AARCH64:
      return "EM_AARCH64";
    case EM_S390:
      return "EM_S390";
    case EM_PPC:
      return "EM_PPC";
    case EM_PPC64:
      return "EM_PPC64";
    case EM_RISCV:
      return "EM_RISCV";
    case EM_SPARCV9:
      return "EM_SPARCV9";
    case EM_IA_64:
      return "EM_IA_64";
    case EM_ALPHA:
      return "EM_ALPHA";
    case EM_68K:
      return "EM_68K";
    case EM_MIPS:
      return "EM_MIPS";
    case EM_LOONGARCH:
      return "EM_LOONGARCH";
    case EM_BPF:
      return "EM_BPF";
    case EM_X86_64:
      return "EM_X86_64";
    default:
      return nullptr;
  }
}

}  // namespace

std::string machine_name(std::uint16_t machine) {
  const char* known = known_machine(machine);
  const std::string number = std::to_string(machine);
  return known == nullptr ? number : std::string(known) + " (" + number + ")";
}

std::string describe(const Section& section) {
  return "section " + (section.name.empty() ? std::to_string(section.index) : section.name);
}

std::string describe(const Owner& owner) {
  const auto* const section = std::get_if<const Section*>(&owner);
  return section != nullptr ? describe(**section) : std::get<const char*>(owner);
}

std::string segment_type_name(std::uint32_t type) {
  switch (type) {
    case PT_LOAD:
      return "PT_LOAD";
    case PT_DYNAMIC:
      return "PT_DYNAMIC";
    case PT_INTERP:
      return "PT_INTERP";
    case PT_NOTE:
      return "PT_NOTE";
    case PT_TLS:
      return "PT_TLS";
    case PT_GNU_EH_FRAME:
      return "PT_GNU_EH_FRAME";
    case PT_GNU_RELRO:
      return "PT_GNU_RELRO";
    case segment_type_gnu_sframe:
      return "PT_GNU_SFRAME";
    case PT_GNU_PROPERTY:
      return "PT_GNU_PROPERTY";
    default:
      return "program header of type " + hex(type);
  }
}

}  // namespace sframe_gen::elf
