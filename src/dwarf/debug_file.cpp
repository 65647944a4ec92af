#include "dwarf/debug_file.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "dwarf/constants.hpp"

namespace sframe_gen::dwarf {

namespace {

[[noreturn]] void fail(std::uint64_t offset, const char* what) {
  throw MalformedInput(debug_origin, offset, what);
}

/// Compilers have 30 at most. Those without bytes of their own would cost time for each entry of one byte.
constexpr std::uint32_t most_specs = 250;

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

AttributeValue read_form(ByteReader& reader, std::uint16_t form, std::uint16_t version, std::uint8_t address_size,
                         std::uint8_t offset_size) {
  const auto sized = [&](std::uint8_t size) { return AttributeValue{form, read_sized(reader, size, "attribute")}; };
  switch (form) {
    case form::addr:
      return sized(address_size);
    case form::data1:
    case form::flag:
    case form::ref1:
    case form::strx1:
    case form::addrx1:
      return sized(1);
    case form::data2:
    case form::ref2:
    case form::strx2:
    case form::addrx2:
      return sized(2);
    case form::strx3:
    case form::addrx3:
      return sized(3);
    case form::data4:
    case form::ref4:
    case form::ref_sup4:
    case form::strx4:
    case form::addrx4:
      return sized(4);
    case form::data8:
    case form::ref8:
    case form::ref_sig8:
    case form::ref_sup8:
      return sized(8);
    case form::strp:
    case form::sec_offset:
    case form::strp_sup:
    case form::line_strp:
    case form::gnu_ref_alt:
    case form::gnu_strp_alt:
      return sized(offset_size);
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
    case form::flag_present:
      return {form, 1};
    case form::string:
      return {form, read_text(reader)};
    case form::data16:
      return {form, skip_block(reader, 16)};
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
      reader.fail("unknown form of an attribute");
  }
}

// Abbreviations

const Abbreviation* Abbreviations::find_read(std::uint64_t code) const {
  if (code - 1 < read_.size() && read_[code - 1].code == code) return &read_[code - 1];
  const auto found = sparse_.find(code);
  return found == sparse_.end() ? nullptr : &read_[found->second];
}

const Abbreviation& Abbreviations::find(std::uint64_t code, Budget& budget) {
  while (true) {
    if (const Abbreviation* const known = find_read(code)) return *known;
    if (at_end_ || !read_next(budget)) fail(reader_.offset(), "an entry's code has no abbreviation");
  }
}

void Abbreviations::add_spec(Abbreviation& abbreviation, const AttributeSpec& spec) {
  if (++abbreviation.spec_count > most_specs) reader_.fail("an abbreviation has too many attributes");
  specs_.push_back(spec);
  switch (spec.form) {
    case form::addr:
      ++abbreviation.addresses;
      break;
    case form::strp:
    case form::sec_offset:
    case form::strp_sup:
    case form::line_strp:
    case form::gnu_ref_alt:
    case form::gnu_strp_alt:
      ++abbreviation.offsets;
      break;
    case form::flag_present:
    case form::implicit_const:
      break;
    case form::data1:
    case form::flag:
    case form::ref1:
    case form::strx1:
    case form::addrx1:
      abbreviation.fixed_size += 1;
      break;
    case form::data2:
    case form::ref2:
    case form::strx2:
    case form::addrx2:
      abbreviation.fixed_size += 2;
      break;
    case form::strx3:
    case form::addrx3:
      abbreviation.fixed_size += 3;
      break;
    case form::data4:
    case form::ref4:
    case form::ref_sup4:
    case form::strx4:
    case form::addrx4:
      abbreviation.fixed_size += 4;
      break;
    case form::data8:
    case form::ref8:
    case form::ref_sig8:
    case form::ref_sup8:
      abbreviation.fixed_size += 8;
      break;
    case form::data16:
      abbreviation.fixed_size += 16;
      break;
    default:
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

// Entries

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

std::string_view function_name(const Unit& unit, std::uint64_t offset) {
  // A call leads to what it calls, which leads to its declaration: three, or one more each time that LTO copies one.
  constexpr unsigned most_entries = 16;
  std::vector<EntryPlace> left{{&unit, offset}};
  std::string_view name;
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
      if (!text.empty()) return text;
    }
    if (name.empty() && plain.is_present()) name = place.unit->file->text_of(*place.unit, plain);
    for (const AttributeValue& reference : {origin, specification}) {
      const EntryPlace next = reference.is_present() ? place_of(*place.unit, reference) : EntryPlace{};
      if (next.unit != nullptr) left.push_back(next);
    }
  }
  return name;
}

// The file

DebugFile::DebugFile(const elf::Image& image, bool is_split)
    : is_split_(is_split),
      endian_(image.endian()),
      info_(section(image, "info")),
      abbreviations_(section(image, "abbrev")),
      strings_(section(image, "str")),
      line_strings_(section(image, "line_str")),
      string_offsets_(section(image, "str_offsets")),
      addresses_(section(image, "addr")),
      ranges_(section(image, "ranges")),
      range_lists_(section(image, "rnglists")),
      lines_(section(image, "line")),
      has_code_at_zero_(image.is_code(0, 1)),
      // Real ones are read once each, and a range or the end of a list of one have two bytes each at least.
      abbreviation_budget_(2 * abbreviations_.size()),
      range_budget_((info_.size() + ranges_.size() + range_lists_.size()) / 2),
      line_budget_(2 * lines_.size()),
      name_budget_(info_.size() + strings_.size() + line_strings_.size() + lines_.size()) {
  read_units();
}

std::span<const std::byte> DebugFile::section(const elf::Image& image, std::string_view name) {
  const std::string suffix = std::string(name) + (is_split_ ? ".dwo" : "");
  const elf::Section* found = image.find_section(".debug_" + suffix);
  if (found == nullptr) found = image.find_section(".zdebug_" + suffix);
  if (found == nullptr) return {};
  try {
    return image.contents_of(*found, decompressed_.emplace_back());
  } catch (const Failure&) {
    return {};
  }
}

ByteReader DebugFile::info_reader(std::uint64_t offset, std::uint64_t end) const {
  if (offset > end || end > info_.size()) fail(offset, "an entry outside .debug_info");
  return {info_.subspan(offset, end - offset), endian_, debug_origin, offset};
}

Unit DebugFile::read_header(ByteReader& reader) const {
  Unit unit;
  unit.offset = reader.offset();
  std::uint64_t size = reader.u32("size of a unit");
  unit.offset_size = size == 0xffffffff ? 8 : 4;
  if (unit.offset_size == 8) size = reader.u64("size of a unit");
  if (size > reader.left()) reader.fail("a unit is larger than its section");
  unit.end = reader.offset() + size;
  ByteReader header(reader.take(size, "unit"), endian_, debug_origin, unit.end - size);
  unit.version = header.u16("version");
  const auto offset = [&](const char* what) { return read_sized(header, unit.offset_size, what); };
  unit.type = unit_type::compile;
  if (unit.version >= 2 && unit.version <= 4) {
    unit.abbreviations = offset("abbreviations");
    unit.address_size = header.u8("size of an address");
  } else if (unit.version == 5) {
    unit.type = header.u8("type of a unit");
    unit.address_size = header.u8("size of an address");
    unit.abbreviations = offset("abbreviations");
    if (unit.type == unit_type::skeleton || unit.type == unit_type::split_compile) unit.split_id = header.u64("id");
    if (unit.type == unit_type::type || unit.type == unit_type::split_type) {
      header.u64("signature");
      offset("type");
    }
  }
  // Others are passed by.
  if (unit.address_size != 4 && unit.address_size != 8) unit.version = 0;
  unit.first_entry = header.offset();
  return unit;
}

void DebugFile::read_units() {
  ByteReader reader(info_, endian_, debug_origin);
  try {
    while (!reader.at_end()) {
      Unit unit = read_header(reader);
      unit.file = this;
      if (unit.version != 0) units_.push_back(unit);
    }
  } catch (const MalformedInput&) {
    // What comes after it cannot be found.
  }
}

const Unit* DebugFile::unit_with(std::uint64_t offset) const {
  const auto after = std::ranges::upper_bound(units_, offset, {}, &Unit::offset);
  if (after == units_.begin()) return nullptr;
  const Unit& unit = *std::prev(after);
  return offset < unit.end ? &unit : nullptr;
}

Abbreviations& DebugFile::abbreviations_of(const Unit& unit) {
  const auto known = tables_.find(unit.abbreviations);
  if (known != tables_.end()) return known->second;
  if (unit.abbreviations > abbreviations_.size()) fail(unit.offset, "abbreviations outside .debug_abbrev");
  const ByteReader reader(abbreviations_.subspan(unit.abbreviations), endian_, debug_origin, unit.abbreviations);
  return tables_.emplace(unit.abbreviations, Abbreviations(reader)).first->second;
}

void DebugFile::read_first_entry(Unit& unit) {
  EntryReader reader(unit, unit.first_entry);
  const Abbreviation* const abbreviation = reader.next();
  if (abbreviation == nullptr) return;
  unit.tag = abbreviation->tag;
  std::vector<std::pair<std::uint16_t, AttributeValue>> attributes;
  reader.read(*abbreviation,
              [&](std::uint16_t name, const AttributeValue& value) { attributes.emplace_back(name, value); });
  set_bases(unit, attributes);
}

void DebugFile::set_bases(Unit& unit, const std::vector<std::pair<std::uint16_t, AttributeValue>>& attributes) {
  // What a split unit does not say begins after the header of its section's only table.
  const bool has_header = is_split_ && unit.version >= 5;
  if (has_header) unit.string_offsets_base = unit.offset_size == 8 ? 16 : 8;
  if (has_header) unit.range_lists_base = unit.offset_size == 8 ? 20 : 12;
  for (const auto& [name, value] : attributes) {
    switch (name) {
      case attribute::str_offsets_base:
        unit.string_offsets_base = value.number;
        break;
      case attribute::addr_base:
      case attribute::gnu_addr_base:
        unit.address_base = value.number;
        break;
      case attribute::rnglists_base:
        unit.range_lists_base = value.number;
        break;
      case attribute::gnu_ranges_base:
        unit.split_ranges_base = value.number;
        break;
      case attribute::gnu_dwo_id:
        unit.split_id = value.number;
        break;
      case attribute::low_pc:
        unit.low = value;
        break;
      case attribute::high_pc:
        unit.high = value;
        break;
      case attribute::ranges:
        unit.ranges = value;
        break;
      case attribute::stmt_list:
        unit.lines = value;
        break;
      case attribute::comp_dir:
        unit.directory = value;
        break;
      case attribute::dwo_name:
      case attribute::gnu_dwo_name:
        unit.split_name = value;
        break;
      default:
        break;
    }
  }
  if (unit.low.is_present()) unit.low_pc = address_of(unit, unit.low).value_or(0);
}

std::uint64_t DebugFile::address_at(const Unit& unit, std::uint64_t index) const {
  const Unit& with = unit.with_addresses();
  const auto table = with.file->addresses_;
  const std::uint64_t most = table.size() / with.address_size;
  if (index > most || with.address_base > table.size() ||
      (index + 1) * with.address_size > table.size() - with.address_base)
    fail(index, "an address outside .debug_addr");
  const auto bytes = table.subspan(with.address_base + index * with.address_size, with.address_size);
  ByteReader reader(bytes, endian_, debug_origin);
  return read_sized(reader, with.address_size, "address");
}

std::optional<std::uint64_t> DebugFile::address_of(const Unit& unit, const AttributeValue& value) const {
  switch (value.form) {
    case form::addr:
      return value.number;
    case form::addrx:
    case form::addrx1:
    case form::addrx2:
    case form::addrx3:
    case form::addrx4:
    case form::gnu_addr_index:
      return address_at(unit, value.number);
    default:
      return std::nullopt;
  }
}

std::string_view DebugFile::text_at(std::span<const std::byte> section, std::uint64_t offset) {
  if (offset >= section.size()) fail(offset, "a string outside its section");
  auto bytes = section.subspan(offset);
  bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), name_budget_.left()));
  const std::string_view text = text_before_zero(bytes);
  return name_budget_.take(text.size() + 1) ? text : std::string_view{};
}

std::string_view DebugFile::text_of(const Unit& unit, const AttributeValue& value) {
  switch (value.form) {
    case form::string:
      return text_at(info_, value.number);
    case form::strp:
      return text_at(strings_, value.number);
    case form::line_strp:
      return text_at(line_strings_, value.number);
    case form::gnu_strp_alt:
    case form::strp_sup:
      return alternate_ == nullptr ? std::string_view{} : alternate_->text_at(alternate_->strings_, value.number);
    case form::strx:
    case form::strx1:
    case form::strx2:
    case form::strx3:
    case form::strx4:
    case form::gnu_str_index: {
      const std::uint64_t size = string_offsets_.size();
      if (value.number > size / unit.offset_size || unit.string_offsets_base > size ||
          (value.number + 1) * unit.offset_size > size - unit.string_offsets_base)
        fail(value.number, "a string outside .debug_str_offsets");
      ByteReader reader(string_offsets_.subspan(unit.string_offsets_base + value.number * unit.offset_size), endian_,
                        debug_origin);
      return text_at(strings_, read_sized(reader, unit.offset_size, "string"));
    }
    default:
      return {};
  }
}

bool DebugFile::may_begin_at(const Unit& unit, std::uint64_t address) const {
  // lld writes -1, or -2 into ranges, where -1 means something else; the others write 0, or 1 and 1 into ranges.
  return address < unit.no_address() - 1 && (address > 1 || unit.with_addresses().file->has_code_at_zero_);
}

void DebugFile::add_range(const Unit& unit, std::uint64_t begin, std::uint64_t end, std::vector<Range>& found) {
  if (begin >= end || !may_begin_at(unit, begin)) return;
  range_budget_.take(1);
  found.push_back({begin, end});
}

void DebugFile::add_ranges(const Unit& unit, const AttributeValue& low, const AttributeValue& high,
                           const AttributeValue& ranges, std::vector<Range>& found) {
  if (low.is_present() && high.is_present()) {
    const auto begin = address_of(unit, low);
    if (!begin) return;
    // DWARF 4: a constant is a size.
    const auto end = address_of(unit, high);
    return add_range(unit, *begin, end ? *end : *begin + high.number, found);
  }
  if (!ranges.is_present()) return;
  if (unit.version >= 5) return add_list(unit, ranges, found);
  if (unit.skeleton != nullptr)
    return unit.skeleton->file->add_old_list(unit, ranges.number + unit.skeleton->split_ranges_base, found);
  add_old_list(unit, ranges.number, found);
}

void DebugFile::add_old_list(const Unit& unit, std::uint64_t offset, std::vector<Range>& found) {
  if (offset > ranges_.size()) fail(offset, "ranges outside .debug_ranges");
  ByteReader reader(ranges_.subspan(offset), endian_, debug_origin, offset);
  std::uint64_t base = unit.with_addresses().low_pc;
  bool is_dropped = false;
  while (true) {
    range_budget_.take(1);
    const std::uint64_t begin = read_sized(reader, unit.address_size, "begin of a range");
    const std::uint64_t end = read_sized(reader, unit.address_size, "end of a range");
    if (begin == 0 && end == 0) return;
    if (begin == unit.no_address()) {
      base = end;
      is_dropped = !may_begin_at(unit, base);
    } else if (!is_dropped && begin < end && may_begin_at(unit, begin + base)) {
      found.push_back({begin + base, end + base});
    }
  }
}

void DebugFile::add_list(const Unit& unit, const AttributeValue& list, std::vector<Range>& found) {
  std::uint64_t offset = list.number;
  if (list.form == form::rnglistx) {
    const std::uint64_t base = unit.range_lists_base;
    if (base > range_lists_.size() || list.number >= (range_lists_.size() - base) / unit.offset_size)
      fail(offset, "ranges outside .debug_rnglists");
    ByteReader reader(range_lists_.subspan(base + list.number * unit.offset_size), endian_, debug_origin);
    offset = read_sized(reader, unit.offset_size, "ranges");
    offset = offset > range_lists_.size() - base ? range_lists_.size() : base + offset;
  }
  if (offset > range_lists_.size()) fail(offset, "ranges outside .debug_rnglists");
  ByteReader reader(range_lists_.subspan(offset), endian_, debug_origin, offset);
  const auto address = [&] { return read_sized(reader, unit.address_size, "address"); };
  const auto indexed = [&] { return address_at(unit, reader.uleb128("address")); };
  const auto number = [&] { return reader.uleb128("offset"); };
  std::uint64_t base = unit.with_addresses().low_pc;
  bool is_dropped = false;
  while (true) {
    range_budget_.take(1);
    std::uint64_t begin = 0, end = 0;
    switch (reader.u8("range")) {
      case range_entry::end_of_list:
        return;
      case range_entry::base_addressx:
        base = indexed();
        is_dropped = !may_begin_at(unit, base);
        continue;
      case range_entry::base_address:
        base = address();
        is_dropped = !may_begin_at(unit, base);
        continue;
      case range_entry::startx_endx:
        begin = indexed();
        end = indexed();
        break;
      case range_entry::startx_length:
        begin = indexed();
        end = begin + number();
        break;
      case range_entry::offset_pair:
        begin = base + number();
        end = base + number();
        if (is_dropped) continue;
        break;
      case range_entry::start_end:
        begin = address();
        end = address();
        break;
      case range_entry::start_length:
        begin = address();
        end = begin + number();
        break;
      default:
        reader.fail("unknown kind of range");
    }
    if (begin < end && may_begin_at(unit, begin)) found.push_back({begin, end});
  }
}

}  // namespace sframe_gen::dwarf
