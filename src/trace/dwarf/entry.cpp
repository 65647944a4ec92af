#include "trace/dwarf/entry.hpp"

#include <utility>
#include <vector>

#include "trace/dwarf/constants.hpp"

namespace sframe_gen::trace::dwarf {

const Abbreviation* EntryReader::next() {
  const std::uint64_t code = reader_.uleb128("code of an entry");
  return code == 0 ? nullptr : &table_->find(code, unit_->file->abbreviation_budget());
}

AttributeValue EntryReader::read_value(const AttributeSpec& spec) {
  if (spec.form == form::implicit_const) return {spec.form, static_cast<std::uint64_t>(spec.implicit_value)};
  std::uint16_t form = spec.form;
  if (form == form::indirect) {
    const std::uint64_t named = reader_.uleb128("form");
    // The value of a constant that is in the abbreviation has no place here.
    if (named > 0xffff || named == form::implicit_const) reader_.fail("unknown form of an attribute");
    form = static_cast<std::uint16_t>(named);
  }
  return read_form(reader_, form, unit_->version, unit_->address_size, unit_->offset_size);
}

void EntryReader::skip(const Abbreviation& abbreviation) {
  if (!abbreviation.is_fixed) return read(abbreviation, [](std::uint16_t, const AttributeValue&) {});
  reader_.take(std::uint64_t{abbreviation.fixed_size} + std::uint64_t{abbreviation.addresses} * unit_->address_size +
                   std::uint64_t{abbreviation.offsets} * unit_->offset_size,
               "an entry");
}

void read_first_entry(Unit& unit) {
  EntryReader reader(unit, unit.first_entry);
  const Abbreviation* const abbreviation = reader.next();
  if (abbreviation == nullptr) return;
  unit.tag = abbreviation->tag;
  std::vector<std::pair<std::uint16_t, AttributeValue>> attributes;
  reader.read(*abbreviation,
              [&](std::uint16_t name, const AttributeValue& value) { attributes.emplace_back(name, value); });
  unit.file->set_bases(unit, attributes);
}

EntryPlace place_of(const Unit& unit, const AttributeValue& reference) {
  const auto within = [](const Unit* there, std::uint64_t offset) {
    return there != nullptr && offset >= there->first_entry && offset < there->end ? EntryPlace{there, offset}
                                                                                   : EntryPlace{};
  };
  switch (reference.form) {
    case form::ref1:
    case form::ref2:
    case form::ref4:
    case form::ref8:
    case form::ref_udata:
      return reference.number < unit.end - unit.offset ? within(&unit, unit.offset + reference.number) : EntryPlace{};
    case form::ref_addr:
      return within(unit.file->unit_with(reference.number), reference.number);
    case form::gnu_ref_alt:
    case form::ref_sup4:
    case form::ref_sup8:
      if (DebugFile* const alternate = unit.file->alternate())
        return within(alternate->unit_with(reference.number), reference.number);
      return {};
    default:
      return {};
  }
}

FunctionName function_name(const Unit& unit, std::uint64_t offset) {
  // A call leads to what it calls, which leads to its declaration: three, or one more each time that LTO copies one.
  constexpr unsigned most_entries = 16;
  std::vector<EntryPlace> left{{&unit, offset}};
  FunctionName name;
  for (unsigned i = 0; i < most_entries && !left.empty(); ++i) {
    const EntryPlace place = left.back();
    left.pop_back();
    EntryReader reader(*place.unit, place.offset);
    const Abbreviation* const abbreviation = reader.next();
    if (abbreviation == nullptr) continue;
    AttributeValue linkage, plain, origin, specification;
    reader.read(*abbreviation, [&](std::uint16_t attribute, const AttributeValue& value) {
      if (attribute == attribute::linkage_name || attribute == attribute::mips_linkage_name) linkage = value;
      if (attribute == attribute::name) plain = value;
      if (attribute == attribute::abstract_origin) origin = value;
      if (attribute == attribute::specification) specification = value;
    });
    if (linkage.is_present()) {
      const std::string_view text = place.unit->file->text_of(*place.unit, linkage);
      if (!text.empty()) return {text, place, true};
    }
    if (name.text.empty() && plain.is_present()) name = {place.unit->file->text_of(*place.unit, plain), place};
    for (const AttributeValue& reference : {origin, specification}) {
      const EntryPlace next = reference.is_present() ? place_of(*place.unit, reference) : EntryPlace{};
      if (next.unit != nullptr) left.push_back(next);
    }
  }
  return name;
}

}  // namespace sframe_gen::trace::dwarf
