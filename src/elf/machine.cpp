#include "elf/machine.hpp"

#include <algorithm>
#include <array>

#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

struct Name {
  std::uint32_t number;
  const char* text;
};

constexpr auto machine_names = std::to_array<Name>({
    {EM_386, "EM_386"},
    {EM_ARM, "EM_ARM"},
    {EM_AARCH64, "EM_AARCH64"},
    {EM_S390, "EM_S390"},
    {EM_PPC, "EM_PPC"},
    {EM_PPC64, "EM_PPC64"},
    {EM_RISCV, "EM_RISCV"},
    {EM_SPARCV9, "EM_SPARCV9"},
    {EM_IA_64, "EM_IA_64"},
    {EM_ALPHA, "EM_ALPHA"},
    {EM_68K, "EM_68K"},
    {EM_MIPS, "EM_MIPS"},
    {EM_BPF, "EM_BPF"},
    {EM_X86_64, "EM_X86_64"},
    {EM_LOONGARCH, "EM_LOONGARCH"},
});

constexpr auto segment_names = std::to_array<Name>({
    {PT_LOAD, "PT_LOAD"},
    {PT_DYNAMIC, "PT_DYNAMIC"},
    {PT_INTERP, "PT_INTERP"},
    {PT_NOTE, "PT_NOTE"},
    {PT_TLS, "PT_TLS"},
    {PT_GNU_EH_FRAME, "PT_GNU_EH_FRAME"},
    {PT_GNU_RELRO, "PT_GNU_RELRO"},
    {PT_GNU_PROPERTY, "PT_GNU_PROPERTY"},
    {segment_type_gnu_sframe, "PT_GNU_SFRAME"},
});

constexpr std::uint64_t smallest_page = 0x1000;

/// AMD64 psABI, table 4.9.
constexpr std::array<std::uint32_t, 2> amd64_pointers{R_X86_64_RELATIVE, R_X86_64_IRELATIVE};
/// ELF for the Arm 64-bit Architecture, "Dynamic relocations"; the last one signs the pointer (PAuth ABI extension).
constexpr std::uint32_t relocation_aarch64_auth_relative = 0x411;
constexpr std::array<std::uint32_t, 3> aarch64_pointers{R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE,
                                                        relocation_aarch64_auth_relative};
/// ELF Application Binary Interface s390x Supplement, "Relocation types".
constexpr std::array<std::uint32_t, 2> s390x_pointers{R_390_RELATIVE, R_390_IRELATIVE};

constexpr std::array known_machines{
    Machine{sframe::Abi::Amd64, EM_X86_64, Endian::Little, 0x1000, amd64_pointers},
    // Kernels with pages of 4, 16 and 64 KiB are in use, and linkers lay files out for the largest.
    Machine{sframe::Abi::Aarch64Little, EM_AARCH64, Endian::Little, 0x10000, aarch64_pointers},
    Machine{sframe::Abi::Aarch64Big, EM_AARCH64, Endian::Big, 0x10000, aarch64_pointers},
    Machine{sframe::Abi::S390x, EM_S390, Endian::Big, 0x1000, s390x_pointers, 8, true},
};

bool loads_share(const Image& image, std::uint64_t page) {
  const Elf64_Phdr* previous = nullptr;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    if (previous != nullptr &&
        align_down(segment.p_vaddr, page) < align_up(previous->p_vaddr + previous->p_memsz, page))
      return true;
    previous = &segment;
  }
  return false;
}

}  // namespace

std::string machine_name(std::uint16_t machine) {
  const auto* const known = std::ranges::find(machine_names, machine, &Name::number);
  const std::string number = std::to_string(machine);
  return known == machine_names.end() ? number : std::string(known->text) + " (" + number + ")";
}

std::string describe(const Section& section) {
  return "section " + (section.name.empty() ? std::to_string(section.index) : section.name);
}

std::string segment_type_name(std::uint32_t type) {
  const auto* const known = std::ranges::find(segment_names, type, &Name::number);
  return known == segment_names.end() ? "program header of type " + hex(type) : known->text;
}

std::string describe(const Owner& owner) {
  if (const auto* const section = std::get_if<const Section*>(&owner)) return describe(**section);
  if (const auto* const segment_type = std::get_if<std::uint32_t>(&owner)) return segment_type_name(*segment_type);
  return std::get<const char*>(owner);
}

const Machine* find_machine(const Image& image) {
  const auto found = std::ranges::find_if(known_machines, [&](const Machine& known) {
    return known.number == image.header().e_machine && known.endian == image.endian();
  });
  return found == known_machines.end() ? nullptr : &*found;
}

const Machine& machine_of(const Image& image) {
  const Machine* const machine = find_machine(image);
  if (machine != nullptr) return *machine;
  const std::uint16_t number = image.header().e_machine;
  const bool other_order = std::ranges::find(known_machines, number, &Machine::number) != known_machines.end();
  const char* const order = !other_order                       ? ""
                            : image.endian() == Endian::Little ? " in little-endian byte order"
                                                               : " in big-endian byte order";
  throw Refused(image.name(), "architecture is " + machine_name(number) + order + ", but SFrame has no ABI for it");
}

std::uint64_t load_alignment(const Image& image) {
  std::uint64_t alignment = smallest_page;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD) alignment = std::max(alignment, segment.p_align);
  return alignment;
}

std::uint64_t layout_page(const Image& image) {
  const std::uint64_t own = load_alignment(image);
  const std::uint64_t page = std::max(own, machine_of(image).largest_page);
  return loads_share(image, page) ? own : page;
}

}  // namespace sframe_gen::elf
