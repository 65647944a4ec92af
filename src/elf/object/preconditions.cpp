#include "elf/object/preconditions.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/object/symbol_table.hpp"
#include "elf/preconditions.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

SectionNames::SectionNames(const elf::Image& object) {
  const std::uint32_t index = object.section_name_table_index();
  if (index == SHN_UNDEF || object.sections()[index].header.sh_type != SHT_STRTAB)
    throw Refused(object.name(), "no section names");
  const auto names = object.bytes_of(object.sections()[index]);
  bytes_.assign(names.begin(), names.end());
}

std::uint32_t SectionNames::place_of(const std::string& name) {
  // With the zero that ends it.
  const std::string_view wanted(name.c_str(), name.size() + 1);
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  const std::size_t found = all.find(wanted);
  const std::size_t place = found == std::string_view::npos ? all.size() : found;
  if (found == std::string_view::npos) {
    const auto added = std::as_bytes(std::span(wanted));
    bytes_.insert(bytes_.end(), added.begin(), added.end());
  }
  return static_cast<std::uint32_t>(place);
}

namespace {

/// gcc -flto without -ffat-lto-objects: the linker's plugin makes the machine code. Objects with both are as any other.
void check_has_code(const elf::Image& object) {
  const auto& sections = object.sections();
  const bool intermediate = std::ranges::any_of(sections, [](const elf::Section& section) {
    return section.name.starts_with(".gnu.lto_") || section.name == ".llvm.lto";
  });
  const bool described = std::ranges::any_of(sections, [](const elf::Section& section) {
    return section.name == ".eh_frame" || section.name == ".debug_frame" || section.name == ".zdebug_frame";
  });
  if (intermediate && !described) {
    throw Refused(object.name(),
                  "intermediate code of a compiler (LTO) without machine code that CFI describes; "
                  "convert what it is linked into");
  }
}

/// What follows a table of names is dropped, and some linkers read on there.
void check_symbol_names(const elf::Image& object) {
  for (const elf::Section& section : object.sections()) {
    const std::uint32_t strings = section.header.sh_link;
    if (section.header.sh_type != SHT_SYMTAB || strings >= object.sections().size()) continue;
    const SymbolTable symbols(object, section.index);
    const std::uint64_t size = object.bytes_of(object.sections()[strings]).size();
    for (std::size_t i = 1; i < symbols.size(); ++i) {
      const std::uint32_t name = symbols.at(i).name;
      if (name != 0 && name >= size)
        throw MalformedInput(
            {object.name(), section.name}, i * sizeof(Elf64_Sym),
            "the symbol's name at " + hex(name) + " is not in its table, which has " + count_of(size, "byte"));
    }
  }
}

}  // namespace

void check_contents_apart(const elf::Image& object) {
  const std::uint64_t headers = object.header().e_shoff;
  std::vector<Range> used{{0, sizeof(Elf64_Ehdr)}, {headers, headers + object.sections().size() * sizeof(Elf64_Shdr)}};
  for (const elf::Section& section : object.sections()) {
    if (object.bytes_of(section).empty()) continue;
    used.push_back({section.header.sh_offset, section.header.sh_offset + section.header.sh_size});
  }
  std::ranges::sort(used, {}, &Range::begin);
  for (std::size_t i = 1; i < used.size(); ++i)
    if (used[i - 1].overlaps(used[i])) throw Refused(object.name(), "sections that share bytes");
}

void check_describable(const elf::Image& object) {
  elf::machine_of(object);
  if (object.sections().empty()) throw Refused(object.name(), "relocatable object without sections");
  if (!object.segments().empty()) throw Refused(object.name(), "relocatable object with program headers");
  check_contents_apart(object);
  check_has_code(object);
}

void check_preconditions(const elf::Image& object, bool drop_signature) {
  check_describable(object);
  check_symbol_names(object);
  if (drop_signature && elf::has_module_signature(object))
    return elf::check_only_signature_appended(object, elf::described_end(object));
  elf::check_not_signed(object);
  elf::check_nothing_appended(object);
}

}  // namespace sframe_gen::elf::object
