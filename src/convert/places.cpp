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

std::optional<CodeRange> Places::single(std::string_view place) {
  if (const auto address = number_of(place)) return CodeRange{*address, *address + 1};
  // Names may have a plus sign in them, so the whole comes first.
  if (const auto whole = named(place)) return whole;
  const auto plus = place.rfind('+');
  const auto offset = plus == std::string_view::npos ? std::nullopt : number_of(place.substr(plus + 1));
  const auto base = offset ? named(place.substr(0, plus)) : std::nullopt;
  if (!base) return {};
  return CodeRange{base->begin + *offset, base->begin + *offset + 1};
}

/// Names may have dots in them too: rustc's "_ZN4core3ops..Fn", where colons would stand.
std::optional<CodeRange> Places::between_two(std::string_view place) {
  for (auto dots = place.find(".."); dots != std::string_view::npos; dots = place.find("..", dots + 1)) {
    const auto begin = single(place.substr(0, dots));
    const auto end = begin ? single(place.substr(dots + 2)) : std::nullopt;
    if (end) return CodeRange{begin->begin, end->begin};
  }
  return {};
}

CodeRange Places::range_of(std::string_view place) {
  if (const auto found = single(place)) return *found;
  const auto range = between_two(place);
  if (!range) throw Refused(image_.name(), "has no symbol or section '" + std::string(place) + "'");
  if (range->end <= range->begin)
    throw Refused(image_.name(), "has nothing in '" + std::string(place) + "', which ends before it begins");
  return *range;
}

std::uint64_t Places::address_of(std::string_view place) {
  if (const auto found = single(place)) return found->begin;
  const std::string what = between_two(place) ? "place '" : "symbol or section '", text(place);
  throw Refused(image_.name(), "has no " + what + text + "'" + (what == "place '" ? ", which is a range of them" : ""));
}

}  // namespace sframe_gen::convert
