#include "rows/proof/imports.hpp"

#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::rows::proof {

Imports::Imports(const elf::Image& image, const Decoder& decoder) : image_(image), decoder_(decoder) {
  for (const elf::Section& section : image.sections())
    if (section.header.sh_type == SHT_RELA && (section.header.sh_flags & SHF_ALLOC) != 0) read(section);
}

void Imports::read(const elf::Section& relocations) {
  const std::uint64_t link = relocations.header.sh_link;
  if (link >= image_.sections().size()) return;
  const elf::Section& table = image_.sections()[link];
  if (table.header.sh_type != SHT_DYNSYM || table.header.sh_link >= image_.sections().size()) return;
  const auto symbols = image_.bytes_of(table);
  const auto strings = image_.bytes_of(image_.sections()[table.header.sh_link]);
  auto records = image_.bytes_of(relocations);
  for (; records.size() >= sizeof(Elf64_Rela); records = records.subspan(sizeof(Elf64_Rela))) {
    const Elf64_Rela relocation = elf::load_relocation(records, image_.endian());
    const std::uint64_t number = ELF64_R_SYM(relocation.r_info);
    if (number == 0 || number >= symbols.size() / sizeof(Elf64_Sym)) continue;
    const Elf64_Sym symbol = elf::load_symbol(symbols.subspan(number * sizeof(Elf64_Sym)), image_.endian());
    if (symbol.st_name >= strings.size()) continue;
    // No name that is compared has more bytes.
    const auto name = text_before_zero(
        strings.subspan(symbol.st_name).first(std::min<std::size_t>(strings.size() - symbol.st_name, 256)));
    slots_[relocation.r_offset] = {name, symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value};
  }
}

std::optional<Import> Imports::of_slot(std::uint64_t address) const {
  const auto found = slots_.find(address);
  if (found == slots_.end()) return std::nullopt;
  return found->second;
}

std::optional<Import> Imports::of_stub(std::uint64_t address) const {
  for (int i = 0; i < 2; ++i) {
    const auto bytes = elf::loaded_bytes_from(image_, address);
    const Instruction instruction = decoder_.decode(bytes, address);
    const Operand& operand = instruction.operands[0];
    if (instruction.operation == Operation::Jump && operand.kind == Operand::Kind::Memory &&
        operand.base == no_register && operand.index == no_register)
      return of_slot(static_cast<std::uint64_t>(operand.number));
    if (instruction.operation != Operation::Nothing || instruction.size == 0) break;
    address += instruction.size;
  }
  return std::nullopt;
}

}  // namespace sframe_gen::rows::proof
