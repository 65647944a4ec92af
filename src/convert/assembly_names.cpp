#include "convert/assembly_names.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

#include "elf/object/symbol_table.hpp"
#include "elf/symbol_names.hpp"
#include "sframe/format.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// Section names as an assembly file can use them.
class ObjectNames {
 public:
  ObjectNames(const elf::Image& object, std::uint32_t symbol_table)
      : object_(object), symbols_(object, symbol_table), budget_(object.file_bytes().size()) {
    for (const elf::Section& section : object.sections()) ++count_of_name_[section.name];
  }

  /// The section of a local symbol has the symbol's place in every assembly of the same source; a global one may
  /// end up as another file's, and FDEs that name it follow it.
  std::string expression(const elf::object::NewRelocation& relocation) {
    const elf::object::Symbol symbol = symbols_.at(relocation.symbol);
    const bool global = symbol.type != STT_SECTION && symbol.binding != STB_LOCAL;
    if (global || !symbol.section)
      return sframe::assembly_name(checked(symbols_.name_of(symbol, budget_.left() + 1))) +
             signed_number(relocation.addend) + " - .";
    const auto offset = static_cast<std::int64_t>(symbol.value) + relocation.addend;
    return section_name(*symbol.section) + signed_number(offset) + " - .";
  }

  std::uint64_t address(const elf::object::NewRelocation& relocation) const {
    return symbols_.address_of(symbols_.at(relocation.symbol)).value_or(0) +
           static_cast<std::uint64_t>(relocation.addend);
  }

 private:
  static std::string signed_number(std::int64_t number) {
    return number == 0 ? "" : (number < 0 ? "" : "+") + std::to_string(number);
  }

  std::string checked(std::string_view name) {
    if (!budget_.take(name.size())) throw Refused(object_.name(), "names more than four times as large as the file");
    if (name.empty() || printable(name) != name)
      throw Refused(object_.name(), "name that no assembly file can have: '" + printable(name) + "'");
    return std::string(name);
  }

  std::string section_name(std::uint32_t index) {
    const std::string& name = object_.sections()[index].name;
    if (count_of_name_.at(name) != 1) {
      throw Refused(object_.name(), "several sections named " + name +
                                        ", which an assembly file cannot tell from each other; convert the object");
    }
    return sframe::assembly_name(checked(name));
  }

  const elf::Image& object_;
  elf::object::SymbolTable symbols_;
  NameBudget budget_;
  SeededMap<std::string_view, std::size_t> count_of_name_;  ///< sections
};

}  // namespace

std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& image, const sframe::Section& section) {
  elf::SymbolNames names(image);
  const sframe::VersionTraits& version = sframe::traits_of(section.version);
  const bool from_field =
      (section.flags & sframe::flag::function_start_pc_relative) != 0 || section.version == sframe::Version::CtfFrame;
  std::vector<sframe::AssemblyFunction> functions;
  functions.reserve(section.fdes.size());
  for (std::size_t i = 0; i < section.fdes.size(); ++i) {
    const std::uint64_t field = version.header_size() + std::uint64_t{i} * version.descriptor_size;
    const std::uint64_t start = section.fdes[i].start;
    std::string expression = hex(start) + " - ";
    expression += from_field ? "(" : "";
    expression += section_address_symbol;
    if (from_field) expression.append("+").append(std::to_string(field)).append(")");
    functions.push_back({std::move(expression), names.name_at(start)});
  }
  return functions;
}

std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& object,
                                                         const elf::object::NewObjectSection& section) {
  ObjectNames object_names(object, section.symbol_table);
  elf::SymbolNames names(object);
  std::vector<sframe::AssemblyFunction> functions;
  functions.reserve(section.relocations.size());
  for (const elf::object::NewRelocation& relocation : section.relocations)
    functions.push_back({object_names.expression(relocation), names.name_at(object_names.address(relocation))});
  return functions;
}

std::string symbol_of_source(const elf::Image& object, const elf::object::NewObjectSection& section) {
  const elf::object::SymbolTable symbols(object, section.symbol_table);
  NameBudget budget(object.file_bytes().size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const elf::object::Symbol symbol = symbols.at(i);
    if (!symbol.section || (symbol.type != STT_FUNC && symbol.type != STT_NOTYPE)) continue;
    std::string name(symbols.name_of(symbol, budget.left() + 1));
    if (!budget.take(name.size())) break;
    // Assemblers drop labels with ".L"; "$x" and the like mark what bytes are, and name nothing.
    if (!name.empty() && name[0] != '.' && name[0] != '$' && sframe::assembly_name(name) == name) return name;
  }
  return {};
}

}  // namespace sframe_gen::convert
