#include "trace/dwarf/abbreviations.hpp"

#include "trace/dwarf/constants.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

/// Compilers have 30 at most. Those without bytes of their own would cost time for each entry of one byte.
constexpr std::uint32_t most_specs = 250;

}  // namespace

const Abbreviation* Abbreviations::find_read(std::uint64_t code) const {
  if (code - 1 < read_.size() && read_[code - 1].code == code) return &read_[code - 1];
  const auto found = sparse_.find(code);
  return found == sparse_.end() ? nullptr : &read_[found->second];
}

const Abbreviation& Abbreviations::find(std::uint64_t code, Budget& budget) {
  while (true) {
    if (const Abbreviation* const known = find_read(code)) return *known;
    if (at_end_ || !read_next(budget)) reader_.fail("an entry's code has no abbreviation");
  }
}

void Abbreviations::add_spec(Abbreviation& abbreviation, const AttributeSpec& spec) {
  if (++abbreviation.spec_count > most_specs) reader_.fail("an abbreviation has too many attributes");
  specs_.push_back(spec);
  const FormSize size = size_of(spec.form);
  switch (size.kind) {
    case FormSize::Kind::Bytes:
      abbreviation.fixed_size += size.bytes;
      break;
    case FormSize::Kind::Address:
      ++abbreviation.addresses;
      break;
    case FormSize::Kind::Offset:
      ++abbreviation.offsets;
      break;
    case FormSize::Kind::Varying:
      abbreviation.is_fixed = false;
  }
}

bool Abbreviations::read_next(Budget& budget) {
  const std::uint64_t begin = reader_.offset();
  const auto small = [this](const char* what) {
    const std::uint64_t number = reader_.uleb128(what);
    return static_cast<std::uint16_t>(number > 0xffff ? 0xffff : number);
  };
  Abbreviation next;
  at_end_ = true;  // unless it is read without a fault
  next.code = reader_.uleb128("code of an abbreviation");
  if (next.code == 0) return false;
  next.tag = small("tag");
  next.has_children = reader_.u8("children") != 0;
  next.first_spec = static_cast<std::uint32_t>(specs_.size());
  while (true) {
    AttributeSpec spec{};
    spec.name = small("attribute");
    spec.form = small("form");
    if (spec.form == form::implicit_const) spec.implicit_value = reader_.sleb128("value");
    if (spec.name == 0 && spec.form == 0) break;
    add_spec(next, spec);
  }
  budget.take(reader_.offset() - begin);
  if (next.code != read_.size() + 1) sparse_.emplace(next.code, read_.size());
  read_.push_back(next);
  at_end_ = false;
  return true;
}

}  // namespace sframe_gen::trace::dwarf
