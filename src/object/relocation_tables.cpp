#include "object/relocation_tables.hpp"

namespace sframe_gen::object {

RelocationTables::RelocationTables(const elf::Image& object) : object_(object) {
  for (const elf::Section& section : object.sections()) {
    const std::uint32_t type = section.header.sh_type;
    if (type == SHT_REL || type == SHT_RELA || type == section_type_crel)
      tables_[section.header.sh_info].push_back(section.index);
  }
}

std::span<const std::uint32_t> RelocationTables::for_section(std::uint32_t index) const {
  const auto found = tables_.find(index);
  return found == tables_.end() ? std::span<const std::uint32_t>() : found->second;
}

const SymbolTable& RelocationTables::symbols(std::uint32_t index) {
  const auto found = symbols_.find(index);
  return found == symbols_.end() ? symbols_.emplace(index, SymbolTable(object_, index)).first->second : found->second;
}

}  // namespace sframe_gen::object
