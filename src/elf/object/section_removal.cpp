#include "elf/object/section_removal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/object/object_writer.hpp"
#include "elf/object/relocations.hpp"
#include "elf/object/symbol_table.hpp"
#include "elf/records.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

namespace {

/// Symbols by number that a linker may not treat alike, as ULEB128. LLVM's, and not in any <elf.h>.
constexpr std::uint32_t section_type_addrsig = 0x6fff4c03;
/// LLVM's before version 13: pairs of symbol numbers.
constexpr std::uint32_t section_type_call_graph = 0x6fff4c02;

bool is_relocations(std::uint32_t type) {
  return type == SHT_RELA || type == SHT_REL || type == section_type_crel;
}

/// Whether sh_info is the number of a section.
bool names_section_in_info(const Elf64_Shdr& header) {
  return is_relocations(header.sh_type) || (header.sh_flags & SHF_INFO_LINK) != 0;
}

/// The numbers that are left of some, without gaps.
class Numbers {
 public:
  explicit Numbers(std::size_t count) : removed_(count) {}

  void remove(std::size_t number) { removed_[number] = true; }
  void close() {
    std::uint32_t next = 0;
    for (const bool is_removed : removed_) new_.push_back(is_removed ? next : next++);
    left_ = next;
  }

  bool is_removed(std::size_t number) const { return number < removed_.size() && removed_[number]; }
  bool all_stay() const { return left_ == removed_.size(); }
  /// Of one that stays. Numbers that there are none of stay what they are.
  std::uint32_t operator[](std::size_t number) const {
    return number < new_.size() ? new_[number] : static_cast<std::uint32_t>(number);
  }

 private:
  std::vector<bool> removed_;
  std::vector<std::uint32_t> new_;
  std::size_t left_ = 0;
};

class Removal {
 public:
  Removal(const elf::Image& object, const std::string& name)
      : object_(object), name_(name), endian_(object.endian()), sections_(object.sections().size()) {
    for (const elf::Section& section : object.sections()) headers_.push_back(object.header_in_file(section.index));
  }

  files::Regions run() {
    choose_sections();
    choose_symbols();
    for (const elf::Section& section : object_.sections())
      if (!sections_.is_removed(section.index)) renumber(section);
    return written();
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw Refused(object_.name(), why); }

  void choose_sections() {
    std::optional<std::uint32_t> found;
    for (const elf::Section& section : object_.sections()) {
      if (section.name != name_) continue;
      const std::uint32_t type = section.header.sh_type;
      if (found) refuse("more than one section named " + name_);
      if (type != SHT_PROGBITS && type != elf::section_type_gnu_sframe)
        refuse("section named " + name_ + " of type " + hex(type));
      found = section.index;
    }
    if (!found) refuse("no " + name_ + " section to remove");
    sections_.remove(*found);
    for (const elf::Section& section : object_.sections())
      if (is_relocations(section.header.sh_type) && section.header.sh_info == *found) sections_.remove(section.index);
    for (const elf::Section& section : object_.sections())
      if (sections_.is_removed(section.index) && (section.header.sh_flags & SHF_GROUP) != 0)
        refuse(section.name + " belongs to a group");
    if (sections_.is_removed(object_.section_name_table_index())) refuse("section names in its " + name_ + " section");
    sections_.close();
  }

  void choose_symbols() {
    const auto table = std::ranges::find(object_.sections(), std::uint32_t{SHT_SYMTAB},
                                         [](const elf::Section& section) { return section.header.sh_type; });
    if (table != object_.sections().end()) {
      const SymbolTable symbols(object_, table->index);
      symbols_ = Numbers(symbols.size());
      for (std::size_t i = 1; i < symbols.size(); ++i) {
        const Symbol symbol = symbols.at(i);
        if (!symbol.section || !sections_.is_removed(*symbol.section)) continue;
        // Another object, or the archive's index, may name it.
        if (symbol.binding != STB_LOCAL) refuse("global symbol in its " + name_ + " section");
        symbols_.remove(i);
      }
    }
    symbols_.close();
  }

  void renumber(const elf::Section& section) {
    Elf64_Shdr& header = headers_[section.index];
    const std::uint32_t type = header.sh_type;
    const auto section_of = [&](std::uint32_t number) {
      if (sections_.is_removed(number)) refuse(section.name + " is linked to its " + name_ + " section");
      return sections_[number];
    };
    // Section header 0 has counts there.
    if (section.index != 0) {
      header.sh_link = section_of(header.sh_link);
      if (names_section_in_info(header)) header.sh_info = section_of(header.sh_info);
    }
    if (type == SHT_SYMTAB) return renumber_symbols(section);
    if (type == SHT_SYMTAB_SHNDX) return renumber_wide_sections(section);
    if (type == SHT_GROUP) return renumber_group(section);
    if (!symbols_.all_stay()) renumber_references(section);
  }

  std::vector<std::byte> copy_of(const elf::Section& section) const {
    const auto bytes = object_.bytes_of(section);
    return {bytes.begin(), bytes.end()};
  }

  void renumber_symbols(const elf::Section& section) {
    const auto bytes = object_.bytes_of(section);
    ByteWriter writer(endian_);
    std::uint32_t locals = 0;
    for (std::size_t i = 0; i < bytes.size() / sizeof(Elf64_Sym); ++i) {
      if (symbols_.is_removed(i)) continue;
      if (i < headers_[section.index].sh_info) ++locals;
      std::array<std::byte, sizeof(Elf64_Sym)> record{};
      std::ranges::copy(bytes.subspan(i * sizeof(Elf64_Sym), sizeof(Elf64_Sym)), record.begin());
      const auto field = std::span(record).subspan(offsetof(Elf64_Sym, st_shndx));
      const auto number = load<std::uint16_t>(field, endian_);
      if (number < SHN_LORESERVE) store(field, static_cast<std::uint16_t>(sections_[number]), endian_);
      writer.append_bytes(record);
    }
    headers_[section.index].sh_info = locals;
    contents_[section.index] = writer.release();
  }

  void renumber_wide_sections(const elf::Section& section) {
    const auto bytes = object_.bytes_of(section);
    ByteWriter writer(endian_);
    for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint32_t); ++i)
      if (!symbols_.is_removed(i))
        writer.u32(sections_[load<std::uint32_t>(bytes.subspan(i * sizeof(std::uint32_t)), endian_)]);
    contents_[section.index] = writer.release();
  }

  /// A word of flags, then numbers of sections. sh_info is the symbol that the group is known by.
  void renumber_group(const elf::Section& section) {
    headers_[section.index].sh_info = symbol_of(headers_[section.index].sh_info, section);
    std::vector<std::byte> bytes = copy_of(section);
    constexpr std::size_t word = sizeof(std::uint32_t);
    for (std::size_t at = word; at + word <= bytes.size(); at += word) {
      const auto place = std::span(bytes).subspan(at);
      const auto member = load<std::uint32_t>(place, endian_);
      if (sections_.is_removed(member)) refuse(name_ + " belongs to a group");
      store(place, sections_[member], endian_);
    }
    contents_[section.index] = std::move(bytes);
  }

  std::uint32_t symbol_of(std::uint64_t number, const elf::Section& section) const {
    if (symbols_.is_removed(number)) refuse(section.name + " refers to its " + name_ + " section");
    return symbols_[number];
  }

  void renumber_references(const elf::Section& section) {
    switch (section.header.sh_type) {
      case SHT_RELA:
        return renumber_relocations(section, sizeof(Elf64_Rela));
      case SHT_REL:
        return renumber_relocations(section, sizeof(Elf64_Rel));
      case section_type_addrsig:
        return renumber_addrsig(section);
      case section_type_crel:
      case section_type_call_graph:
        refuse("symbol in its " + name_ + " section, and " + section.name +
               " has numbers of symbols in a form that is "
               "not written here");
      default:
        return;
    }
  }

  void renumber_relocations(const elf::Section& section, std::size_t record_size) {
    constexpr unsigned symbol_shift = 32;
    std::vector<std::byte> bytes = copy_of(section);
    for (std::size_t at = 0; at + record_size <= bytes.size(); at += record_size) {
      const auto place = std::span(bytes).subspan(at + offsetof(Elf64_Rela, r_info));
      const auto info = load<std::uint64_t>(place, endian_);
      const std::uint64_t symbol = symbol_of(ELF64_R_SYM(info), section);
      store(place, symbol << symbol_shift | ELF64_R_TYPE(info), endian_);
    }
    contents_[section.index] = std::move(bytes);
  }

  void renumber_addrsig(const elf::Section& section) {
    const InputOrigin origin{object_.name(), section.name};
    ByteReader reader(object_.bytes_of(section), endian_, origin);
    ByteWriter writer(endian_);
    constexpr unsigned bits = 7, more = 0x80;
    while (!reader.at_end()) {
      const std::uint64_t symbol = reader.uleb128("symbol number");
      if (symbols_.is_removed(symbol)) continue;
      std::uint32_t number = symbols_[symbol];
      for (; number >= more; number >>= bits) writer.u8(static_cast<std::uint8_t>(number | more));
      writer.u8(static_cast<std::uint8_t>(number));
    }
    contents_[section.index] = writer.release();
  }

  files::Regions written() {
    ObjectLayout layout(object_);
    std::vector<std::uint32_t> order;
    for (const elf::Section& section : object_.sections())
      if (section.header.sh_type != SHT_NULL && section.index != 0 && !sections_.is_removed(section.index))
        order.push_back(section.index);
    layout.keep(std::move(order), headers_, contents_);
    std::vector<Elf64_Shdr> left;
    for (std::uint32_t i = 0; i < headers_.size(); ++i)
      if (!sections_.is_removed(i)) left.push_back(headers_[i]);
    return layout.finish(std::move(left), sections_[object_.section_name_table_index()]);
  }

  const elf::Image& object_;
  const std::string& name_;
  Endian endian_;
  std::vector<Elf64_Shdr> headers_;  ///< by the object's numbers
  Numbers sections_, symbols_{0};
  ObjectLayout::Contents contents_;
};

/// Two objects, of which the second lacks a section.
class ObjectRemovalCheck {
 public:
  ObjectRemovalCheck(const elf::Image& input, const elf::Image& output) : input_(input), output_(output) {}

  void run(const std::string& name) {
    const auto& sections = output_.sections();
    require(output_.find_section(name) == nullptr, name + " is gone");
    std::size_t next = 0;
    for (const elf::Section& section : input_.sections()) {
      const bool is_of_it = is_relocations(section.header.sh_type) && is_section(section.header.sh_info, name);
      if (section.name == name || is_of_it) continue;
      require(next < sections.size() && sections[next].name == section.name, section.name + " stays in its order");
      check_section(section, sections[next++]);
    }
    require(next == sections.size(), "no section is new");
  }

 private:
  void require(bool holds, const std::string& rule) const {
    if (!holds) throw LayoutViolation(output_.name(), rule);
  }

  bool is_section(std::uint32_t number, const std::string& name) const {
    return number < input_.sections().size() && input_.sections()[number].name == name;
  }

  void check_section(const elf::Section& before, const elf::Section& after) const {
    const Elf64_Shdr &was = before.header, &is = after.header;
    require(was.sh_type == is.sh_type && was.sh_flags == is.sh_flags && was.sh_entsize == is.sh_entsize &&
                was.sh_addralign == is.sh_addralign && was.sh_name == is.sh_name,
            before.name + " keeps its header");
    require(section_name(input_, was.sh_link) == section_name(output_, is.sh_link),
            before.name + " is linked to the same section");
    if (was.sh_type == SHT_RELA) return check_relocations(before, after);
    const bool has_numbers = was.sh_type == SHT_SYMTAB || was.sh_type == SHT_SYMTAB_SHNDX || was.sh_type == SHT_GROUP ||
                             was.sh_type == SHT_REL || was.sh_type == section_type_addrsig;
    if (!has_numbers)
      require(equal_bytes(input_.bytes_of(before), output_.bytes_of(after)), before.name + " keeps its bytes");
  }

  static std::string_view section_name(const elf::Image& image, std::uint32_t number) {
    return number < image.sections().size() ? std::string_view(image.sections()[number].name) : std::string_view();
  }

  void check_relocations(const elf::Section& before, const elf::Section& after) const {
    require(section_name(input_, before.header.sh_info) == section_name(output_, after.header.sh_info),
            before.name + " is for the same section");
    const auto was = input_.bytes_of(before), is = output_.bytes_of(after);
    require(was.size() == is.size(), before.name + " has as many relocations");
    const SymbolTable symbols_before(input_, before.header.sh_link), symbols_after(output_, after.header.sh_link);
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= was.size(); at += sizeof(Elf64_Rela)) {
      const Elf64_Rela one = elf::load_relocation(was.subspan(at), input_.endian());
      const Elf64_Rela other = elf::load_relocation(is.subspan(at), output_.endian());
      require(one.r_offset == other.r_offset && one.r_addend == other.r_addend &&
                  ELF64_R_TYPE(one.r_info) == ELF64_R_TYPE(other.r_info),
              before.name + " keeps its relocations");
      const Symbol a = symbols_before.at(ELF64_R_SYM(one.r_info)), b = symbols_after.at(ELF64_R_SYM(other.r_info));
      const bool same_section = a.section.has_value() == b.section.has_value() &&
                                (!a.section || section_name(input_, *a.section) == section_name(output_, *b.section));
      require(a.name == b.name && a.value == b.value && a.type == b.type && a.binding == b.binding && same_section,
              before.name + " keeps its symbols");
    }
  }

  const elf::Image& input_;
  const elf::Image& output_;
};

}  // namespace

files::Regions without_section(const elf::Image& object, const std::string& name) {
  return Removal(object, name).run();
}

void check_without_section(const elf::Image& input, const elf::Image& output, const std::string& name) {
  ObjectRemovalCheck(input, output).run(name);
}

}  // namespace sframe_gen::elf::object
