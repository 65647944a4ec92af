#include "trace/dwarf/abbreviations.hpp"

#include <algorithm>

#include "trace/dwarf/constants.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

std::uint64_t skip_block(ByteReader& reader, std::uint64_t size) {
  reader.take(size, "block");
  return 0;
}

std::uint64_t read_text(ByteReader& reader) {
  const std::uint64_t at = reader.offset();
  const auto rest = reader.rest();
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end()) reader.fail("a string does not end");
  reader.skip(static_cast<std::size_t>(end - rest.begin()) + 1);
  return at;
}

}  // namespace

FormSize size_of(std::uint16_t form) {
  const auto of_bytes = [](std::uint8_t bytes) { return FormSize{FormSize::Kind::Bytes, bytes}; };
  switch (form) {
    case form::addr:
      return {FormSize::Kind::Address, 0};
    case form::strp:
    case form::sec_offset:
    case form::strp_sup:
    case form::line_strp:
    case form::gnu_ref_alt:
    case form::gnu_strp_alt:
      return {FormSize::Kind::Offset, 0};
    case form::flag_present:
    case form::implicit_const:
      return of_bytes(0);
    case form::data1:
    case form::flag:
    case form::ref1:
    case form::strx1:
    case form::addrx1:
      return of_bytes(1);
    case form::data2:
    case form::ref2:
    case form::strx2:
    case form::addrx2:
      return of_bytes(2);
    case form::strx3:
    case form::addrx3:
      return of_bytes(3);
    case form::data4:
    case form::ref4:
    case form::ref_sup4:
    case form::strx4:
    case form::addrx4:
      return of_bytes(4);
    case form::data8:
    case form::ref8:
    case form::ref_sig8:
    case form::ref_sup8:
      return of_bytes(8);
    case form::data16:
      return of_bytes(16);
    default:
      return {};
  }
}

std::uint64_t read_sized(ByteReader& reader, std::uint8_t size, const char* what) {
  switch (size) {
    case 1:
      return reader.u8(what);
    case 2:
      return reader.u16(what);
    case 3: {
      const auto bytes = reader.take(3, what);
      std::uint64_t value = 0;
      for (unsigned i = 0; i < 3; ++i) {
        const unsigned place = reader.endian() == Endian::Little ? i : 2 - i;
        value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * place);
      }
      return value;
    }
    case 4:
      return reader.u32(what);
    case 8:
      return reader.u64(what);
    default:
      reader.fail("a size that nothing has");
  }
}

AttributeValue read_form(ByteReader& reader, std::uint16_t form, std::uint16_t version, std::uint8_t address_size,
                         std::uint8_t offset_size) {
  const auto sized = [&](std::uint8_t size) { return AttributeValue{form, read_sized(reader, size, "attribute")}; };
  switch (form) {
    case form::flag_present:
      return {form, 1};
    case form::data16:
      return {form, skip_block(reader, 16)};
    case form::ref_addr:
      return sized(version < 3 ? address_size : offset_size);
    case form::sdata:
      return {form, static_cast<std::uint64_t>(reader.sleb128("attribute"))};
    case form::udata:
    case form::ref_udata:
    case form::strx:
    case form::addrx:
    case form::loclistx:
    case form::rnglistx:
    case form::gnu_addr_index:
    case form::gnu_str_index:
      return {form, reader.uleb128("attribute")};
    case form::string:
      return {form, read_text(reader)};
    case form::block1:
      return {form, skip_block(reader, reader.u8("size of a block"))};
    case form::block2:
      return {form, skip_block(reader, reader.u16("size of a block"))};
    case form::block4:
      return {form, skip_block(reader, reader.u32("size of a block"))};
    case form::block:
    case form::exprloc:
      return {form, skip_block(reader, reader.uleb128("size of a block"))};
    default:
      break;
  }
  const FormSize size = size_of(form);
  if (size.kind == FormSize::Kind::Address) return sized(address_size);
  if (size.kind == FormSize::Kind::Offset) return sized(offset_size);
  if (size.bytes == 0) reader.fail("unknown form of an attribute");
  return sized(size.bytes);
}

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
