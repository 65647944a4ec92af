#include "convert/places.hpp"

#include <charconv>

#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// In hex with 0x, or else decimal.
std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return number;
}

}  // namespace

Places::Places(const elf::Image& image) : image_(image), names_(image) {}

std::string Places::symbol_at(std::uint64_t address) {
  const std::optional<elf::SymbolNames::Named> found = names_.symbol_at(address);
  if (!found) return {};
  return address == found->begin ? found->name : found->name + "+" + hex(address - found->begin);
}

std::string Places::text_of(std::uint64_t address) const {
  if (!image_.is_object()) return hex(address);
  for (const elf::Section& section : image_.sections()) {
    const bool loaded = (section.header.sh_flags & SHF_ALLOC) != 0;
    const std::uint64_t offset = address - section.header.sh_addr;
    // Sections do not touch, so what is at an end is no other's start.
    if (loaded && offset <= section.header.sh_size) return section.name + "+" + hex(offset);
  }
  return hex(address);
}

std::optional<CodeRange> Places::named(std::string_view name) {
  // Section 0 has no name either, and is no place.
  if (name.empty()) return {};
  if (const auto symbol = names_.find(name)) return CodeRange{symbol->begin, symbol->end};
  const elf::Section* const section = image_.find_section(name);
  if (section == nullptr) return {};
  return CodeRange{section->header.sh_addr, section->header.sh_addr + section->header.sh_size};
}

CodeRange Places::range_of(std::string_view place) {
  if (const auto dots = place.find(".."); dots != std::string_view::npos && dots != 0) {
    const std::uint64_t begin = range_of(place.substr(0, dots)).begin;
    const std::uint64_t end = range_of(place.substr(dots + 2)).begin;
    if (end <= begin)
      throw Refused(image_.name(), "has nothing in '" + std::string(place) + "', which ends before it begins");
    return {begin, end};
  }
  if (const auto address = number_of(place)) return {*address, *address + 1};
  // Names may have a plus sign in them, so the whole comes first.
  if (const auto whole = named(place)) return *whole;
  const auto plus = place.rfind('+');
  const auto offset = plus == std::string_view::npos ? std::nullopt : number_of(place.substr(plus + 1));
  const auto base = offset ? named(place.substr(0, plus)) : std::nullopt;
  if (!base) throw Refused(image_.name(), "has no symbol or section '" + std::string(place) + "'");
  return {base->begin + *offset, base->begin + *offset + 1};
}

}  // namespace sframe_gen::convert
