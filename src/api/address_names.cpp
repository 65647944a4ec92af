#include "api/address_names.hpp"

#include <charconv>
#include <system_error>

#include "cfi/frame_source.hpp"
#include "encode/row_sources.hpp"
#include "encode/stub_merge.hpp"
#include "rows/stubs/recognize.hpp"
#include "support/text.hpp"

namespace sframe_gen::api {

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

AddressNames::AddressNames(const elf::Image& image) : image_(image), names_(image) {
  if (image.is_object()) sections_.emplace(image);
}

std::string AddressNames::symbol_at(std::uint64_t address) {
  const std::optional<elf::SymbolNames::Named> found = names_.symbol_at(address);
  if (!found) return {};
  return address == found->begin ? found->name : found->name + "+" + hex(address - found->begin);
}

std::optional<RowSource> AddressNames::source_at(std::uint64_t address, std::uint64_t start) {
  if (!sources_) {
    try {
      const cfi::FrameSource source(image_, image_, encode::go_functions_of(image_));
      sources_.emplace(source, encode::without_code_of_functions(rows::stubs::find_stubs(image_), source));
    } catch (const Failure&) {
      sources_.emplace();  // the section may be read all the same
    }
  }
  return sources_->at(address, start);
}

std::string AddressNames::text_of(std::uint64_t address) const {
  const elf::Section* const section = sections_ ? sections_->find(address) : nullptr;
  return section == nullptr ? hex(address) : section->name + "+" + hex(address - section->header.sh_addr);
}

std::optional<Range> AddressNames::named(std::string_view name) {
  // Section 0 has no name either, and is no place.
  if (name.empty()) return {};
  if (const auto symbol = names_.find(name)) return Range{symbol->begin, symbol->end};
  const elf::Section* const section = image_.find_section(name);
  if (section == nullptr) return {};
  return Range{section->header.sh_addr, section->header.sh_addr + section->header.sh_size};
}

std::optional<Range> AddressNames::single(std::string_view place) {
  if (const auto address = number_of(place)) return Range{*address, *address + 1};
  // Names may have a plus sign in them, so the whole comes first.
  if (const auto whole = named(place)) return whole;
  const auto plus = place.rfind('+');
  const auto offset = plus == std::string_view::npos ? std::nullopt : number_of(place.substr(plus + 1));
  const auto base = offset ? named(place.substr(0, plus)) : std::nullopt;
  if (!base) return {};
  return Range{base->begin + *offset, base->begin + *offset + 1};
}

/// Names may have dots in them too: rustc's "_ZN4core3ops..Fn", where colons would stand.
std::optional<Range> AddressNames::between_two(std::string_view place) {
  for (auto dots = place.find(".."); dots != std::string_view::npos; dots = place.find("..", dots + 1)) {
    const auto begin = single(place.substr(0, dots));
    const auto end = begin ? single(place.substr(dots + 2)) : std::nullopt;
    if (end) return Range{begin->begin, end->begin};
  }
  return {};
}

Range AddressNames::range_of(std::string_view place) {
  if (const auto found = single(place)) return *found;
  const auto range = between_two(place);
  if (!range) throw Refused(image_.name(), "no symbol or section '" + std::string(place) + "'");
  if (range->end <= range->begin)
    throw Refused(image_.name(), "nothing in '" + std::string(place) + "', which ends before it begins");
  return *range;
}

std::uint64_t AddressNames::address_of(std::string_view place) {
  if (const auto found = single(place)) return found->begin;
  if (between_two(place)) throw Refused(image_.name(), "'" + std::string(place) + "' is a range, not a location");
  throw Refused(image_.name(), "no symbol or section '" + std::string(place) + "'");
}

}  // namespace sframe_gen::api
