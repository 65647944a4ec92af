#include "object/section_names.hpp"

#include <string_view>

namespace sframe_gen::object {

SectionNames::SectionNames(const elf::Image& object) {
  const std::uint32_t index = object.section_name_table_index();
  if (index == SHN_UNDEF || object.sections()[index].header.sh_type != SHT_STRTAB)
    throw Refused(object.name(), "has no section names");
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

}  // namespace sframe_gen::object
