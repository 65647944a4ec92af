#include "elf/object/object_writer.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "elf/object/preconditions.hpp"
#include "elf/object/relocations.hpp"
#include "elf/object/symbol_table.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

namespace {

/// Contents from this size on are not held in memory. A piece of its own costs more than the copy of a smaller one.
constexpr std::size_t worth_mapping = std::size_t{1} << 20;

}  // namespace

ObjectLayout::ObjectLayout(const elf::Image& object) : object_(object), output_(object.endian()) {
  output_.append_bytes(object.slice(0, sizeof(Elf64_Ehdr), "ELF header"));
}

void ObjectLayout::keep(std::vector<std::uint32_t> sections, std::vector<Elf64_Shdr>& headers,
                        const Contents& changed) {
  const auto bytes_of = [&](std::uint32_t index) { return object_.bytes_of(object_.sections()[index]); };
  // What is empty goes first among equals: a gap that closes in front of a section must not turn the two around.
  std::ranges::stable_sort(
      sections, {}, [&](std::uint32_t index) { return std::pair(headers[index].sh_offset, !bytes_of(index).empty()); });
  for (const std::uint32_t index : sections) {
    Elf64_Shdr& header = headers[index];
    // No reader needs them aligned in the file; what is aligned, as assemblers do it, stays so.
    const bool is_aligned = elf::is_power_of_two_or_zero(header.sh_addralign) &&
                            elf::align_down(header.sh_offset, header.sh_addralign) == header.sh_offset;
    header.sh_offset = pad_to(is_aligned && !bytes_of(index).empty() ? header.sh_addralign : 1);
    if (const auto found = changed.find(index); found != changed.end()) {
      header.sh_size = found->second.size();
      output_.append_bytes(found->second);
    } else {
      append(bytes_of(index));
    }
  }
}

void ObjectLayout::append(std::span<const std::byte> contents) {
  if (contents.size() < worth_mapping) return output_.append_bytes(contents);
  end_piece();
  const auto from = static_cast<std::uint64_t>(contents.data() - object_.file_bytes().data());
  form_.put_input(form_.size(), from, contents.size());
}

void ObjectLayout::end_piece() {
  form_.put_bytes(form_.size(), std::exchange(output_, ByteWriter(object_.endian())).release());
}

std::uint64_t ObjectLayout::pad_to(std::uint64_t alignment) {
  while (offset() != elf::align_up(offset(), alignment)) output_.u8(0);
  return offset();
}

files::Regions ObjectLayout::finish(std::vector<Elf64_Shdr> headers, std::uint32_t names) {
  Elf64_Ehdr elf_header = object_.header();
  elf_header.e_shoff = pad_to(alignof(Elf64_Shdr));
  // Numbers beyond 16 bits stand in section header 0 (gABI, chapter 4).
  const bool extended = headers.size() >= SHN_LORESERVE;
  elf_header.e_shnum = extended ? Elf64_Half{0} : static_cast<Elf64_Half>(headers.size());
  if (extended) headers[0].sh_size = headers.size();
  if (names != object_.section_name_table_index()) {
    const bool is_wide = names >= SHN_LORESERVE;
    elf_header.e_shstrndx = is_wide ? Elf64_Half{SHN_XINDEX} : static_cast<Elf64_Half>(names);
    if (is_wide) headers[0].sh_link = names;
  }
  for (const Elf64_Shdr& section : headers) {
    std::array<std::byte, sizeof(Elf64_Shdr)> bytes{};
    elf::store_section(bytes, section, object_.endian());
    output_.append_bytes(bytes);
  }
  end_piece();
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr));
  elf::store_header(bytes, elf_header, object_.endian());
  form_.put_bytes(0, std::move(bytes));
  return std::move(form_);
}

namespace {

/// One object on the way to its new form: the headers as they will be, and the contents as they are laid down.
class Writer {
 public:
  Writer(const elf::Image& object, const NewObjectSection& added)
      : object_(object), added_(added), names_(object), layout_(object) {
    for (const elf::Section& section : object.sections()) headers_.push_back(object.header_in_file(section.index));
  }

  files::Regions run() {
    // First the longer name, which ends in the other.
    names_.place_of(".rela" + added_.name);
    section_ = find_or_add(added_.name, {SHT_PROGBITS, elf::section_type_gnu_sframe});
    relocations_ = find_or_add(".rela" + added_.name, {SHT_RELA});
    check_replaceable();
    keep_contents();
    add_section();
    add_relocations();
    add_names();
    return layout_.finish(std::move(headers_), object_.section_name_table_index());
  }

 private:
  std::uint32_t find_or_add(const std::string& name, std::initializer_list<std::uint32_t> types) {
    std::optional<std::uint32_t> found;
    for (const elf::Section& section : object_.sections()) {
      if (section.name != name) continue;
      if (found) throw Refused(object_.name(), "more than one section named " + name);
      if (std::ranges::find(types, section.header.sh_type) == types.end())
        throw Refused(object_.name(), "section named " + name + " of type " + hex(section.header.sh_type));
      found = section.index;
    }
    if (found) return *found;
    headers_.push_back({});
    headers_.back().sh_name = names_.place_of(name);
    return static_cast<std::uint32_t>(headers_.size() - 1);
  }

  /// Checks that the section and its relocations are only sframe-gen's or an assembler's.
  void check_replaceable() const {
    for (const elf::Section& section : object_.sections()) {
      const std::uint32_t type = section.header.sh_type;
      const bool relocates = type == SHT_RELA || type == SHT_REL || type == section_type_crel;
      if (relocates && section.header.sh_info == section_ && section.index != relocations_)
        throw Refused(object_.name(), "other relocations for " + added_.name + ", in " + section.name);
      if ((section.index == section_ || section.index == relocations_) && (section.header.sh_flags & SHF_GROUP) != 0)
        throw Refused(object_.name(), section.name + " belongs to a group");
    }
    if (section_ >= object_.sections().size()) return;
    const SymbolTable symbols(object_, added_.symbol_table);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const Symbol symbol = symbols.at(i);
      if (symbol.section == section_ && symbol.type != STT_SECTION && !says_data(symbols, symbol))
        throw Refused(object_.name(), "symbol in its " + added_.name + " section");
    }
  }

  /// A mapping symbol: from the section's start on there are data (ELF for the Arm 64-bit Architecture, "Mapping
  /// symbols"), which stays true. Seen in what clang 22 assembles for `.cfi_sections .sframe`.
  bool says_data(const SymbolTable& symbols, const Symbol& symbol) const {
    if (object_.header().e_machine != EM_AARCH64 || symbol.type != STT_NOTYPE || symbol.value != 0) return false;
    constexpr std::string_view mark = "$d", mark_with_more = "$d.";
    const std::string_view name = symbols.name_of(symbol, mark_with_more.size());
    return name == mark || name == mark_with_more;
  }

  bool is_new(std::uint32_t index) const {
    return index == section_ || index == relocations_ || index == object_.section_name_table_index();
  }

  void keep_contents() {
    std::vector<std::uint32_t> order;
    for (const elf::Section& section : object_.sections()) {
      const bool is_nothing =
          section.index == 0 && object_.bytes_of(section).empty();  // whatever type a damaged one has
      if (section.header.sh_type != SHT_NULL && !is_nothing && !is_new(section.index)) order.push_back(section.index);
    }
    layout_.keep(std::move(order), headers_);
  }

  void add_section() {
    Elf64_Shdr& header = headers_[section_];
    header = {header.sh_name,
              added_.type,
              SHF_ALLOC,
              0,
              layout_.pad_to(added_.alignment),
              added_.bytes.size(),
              0,
              0,
              added_.alignment,
              0};
    layout_.output().append_bytes(added_.bytes);
  }

  void add_relocations() {
    Elf64_Shdr& header = headers_[relocations_];
    constexpr std::uint64_t alignment = 8;
    header = {header.sh_name,
              SHT_RELA,
              SHF_INFO_LINK,
              0,
              layout_.pad_to(alignment),
              added_.relocations.size() * sizeof(Elf64_Rela),
              added_.symbol_table,
              section_,
              alignment,
              sizeof(Elf64_Rela)};
    for (const NewRelocation& relocation : added_.relocations) {
      layout_.output().u64(relocation.offset);
      layout_.output().u64(ELF64_R_INFO(std::uint64_t{relocation.symbol}, std::uint64_t{added_.relocation_type}));
      layout_.output().u64(static_cast<std::uint64_t>(relocation.addend));
    }
  }

  void add_names() {
    Elf64_Shdr& header = headers_[object_.section_name_table_index()];
    header.sh_offset = layout_.offset();
    header.sh_size = names_.bytes().size();
    layout_.output().append_bytes(names_.bytes());
  }

  const elf::Image& object_;
  const NewObjectSection& added_;
  SectionNames names_;
  ObjectLayout layout_;
  std::vector<Elf64_Shdr> headers_;
  std::uint32_t section_ = 0, relocations_ = 0;
};

}  // namespace

files::Regions with_section(const elf::Image& object, const NewObjectSection& added) {
  return Writer(object, added).run();
}

}  // namespace sframe_gen::elf::object
