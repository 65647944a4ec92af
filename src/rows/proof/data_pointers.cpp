#include "rows/proof/data_pointers.hpp"

#include <algorithm>
#include <functional>

#include "elf/records.hpp"
#include "support/containers.hpp"
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

namespace {

class Collector {
 public:
  explicit Collector(const elf::Image& image) : image_(image), left_(image.file_bytes().size()) {}

  std::vector<std::uint64_t> collect() {
    // Words of a program at fixed addresses are final.
    const bool is_fixed = image_.header().e_type == ET_EXEC;
    for (const elf::Section& section : image_.sections()) {
      const Elf64_Shdr& header = section.header;
      if ((header.sh_flags & SHF_ALLOC) == 0) continue;
      if (header.sh_type == SHT_RELA) {
        read_relocations(section);
      } else if (header.sh_type == elf::section_type_relr) {
        read_packed(section);
      } else if (is_fixed && (header.sh_flags & SHF_WRITE) != 0 && header.sh_type != SHT_NOBITS) {
        read_words(section);
      }
    }
    sort_by_number(std::span(found_), std::identity(), std::less());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void add(std::uint64_t address) {
    if (image_.is_code(address, 1)) found_.push_back(address);
  }

  std::span<const std::byte> bytes_of(const elf::Section& section) {
    const auto bytes = image_.bytes_of(section);
    if (bytes.size() > left_) throw Refused(image_.name(), "sections of data that are together larger than the file");
    left_ -= bytes.size();
    return bytes;
  }

  std::uint64_t word_at(std::span<const std::byte> bytes) const { return load<std::uint64_t>(bytes, image_.endian()); }

  void add_word_at(std::uint64_t address) {
    // Each place is another word of the file.
    if (++places_ > image_.file_bytes().size()) throw Refused(image_.name(), "more relocations than words in the file");
    const auto bytes = elf::loaded_bytes(image_, address, sizeof(std::uint64_t));
    if (!bytes.empty()) add(word_at(bytes));
  }

  /// AMD64 psABI, table 4.9: what the addend is alone, or counted from a symbol.
  void read_relocations(const elf::Section& section) {
    const std::span<const std::byte> symbols = symbols_of(section);
    auto records = bytes_of(section);
    for (; records.size() >= sizeof(Elf64_Rela); records = records.subspan(sizeof(Elf64_Rela))) {
      const Elf64_Rela relocation = elf::load_relocation(records, image_.endian());
      const auto addend = static_cast<std::uint64_t>(relocation.r_addend);
      const std::uint64_t type = ELF64_R_TYPE(relocation.r_info), number = ELF64_R_SYM(relocation.r_info);
      if (type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE) {
        add(addend);
      } else if (type == R_X86_64_64 && number < symbols.size() / sizeof(Elf64_Sym)) {
        const Elf64_Sym symbol = elf::load_symbol(symbols.subspan(number * sizeof(Elf64_Sym)), image_.endian());
        if (symbol.st_shndx != SHN_UNDEF) add(symbol.st_value + addend);
      }
    }
  }

  std::span<const std::byte> symbols_of(const elf::Section& relocations) const {
    const std::uint64_t link = relocations.header.sh_link;
    if (link >= image_.sections().size()) return {};
    const elf::Section& table = image_.sections()[link];
    return table.header.sh_type == SHT_DYNSYM ? image_.bytes_of(table) : std::span<const std::byte>();
  }

  /// gABI, "Relative Relocation Table": an even word is an address; an odd one, bits for the 63 words after that.
  void read_packed(const elf::Section& section) {
    std::uint64_t next = 0;
    auto records = bytes_of(section);
    for (; records.size() >= sizeof(std::uint64_t); records = records.subspan(sizeof(std::uint64_t))) {
      const std::uint64_t record = word_at(records);
      if ((record & 1U) == 0) {
        add_word_at(record);
        next = record + sizeof(std::uint64_t);
        continue;
      }
      for (unsigned bit = 1; bit < 64; ++bit)
        if ((record >> bit & 1U) != 0) add_word_at(next + (bit - 1) * sizeof(std::uint64_t));
      next += 63 * sizeof(std::uint64_t);
    }
  }

  void read_words(const elf::Section& section) {
    auto words = bytes_of(section);
    const std::uint64_t odd = -section.header.sh_addr % sizeof(std::uint64_t);
    for (words = words.subspan(std::min<std::uint64_t>(odd, words.size())); words.size() >= sizeof(std::uint64_t);
         words = words.subspan(sizeof(std::uint64_t)))
      add(word_at(words));
  }

  const elf::Image& image_;
  std::uint64_t left_;  ///< bytes of the file that may still be read
  std::uint64_t places_ = 0;
  std::vector<std::uint64_t> found_;
};

}  // namespace

std::vector<std::uint64_t> code_addresses_in_data(const elf::Image& image) {
  return Collector(image).collect();
}

}  // namespace sframe_gen::rows::proof
