#include "trace/dwarf/debug_sections.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/dwarf/constants.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

[[noreturn]] void fail(std::uint64_t offset, const char* what) {
  throw MalformedInput(debug_origin, offset, what);
}

}  // namespace

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
      // A producer's tables are read once each. A range takes two bytes at least, and so does the end of a list.
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

}  // namespace sframe_gen::trace::dwarf
