#include "trace/dwarf/calls.hpp"

#include <algorithm>
#include <queue>

#include "trace/dwarf/constants.hpp"
#include "trace/dwarf/entry.hpp"

namespace sframe_gen::trace::dwarf {

FlatRanges::FlatRanges(std::vector<OwnedRange> ranges) {
  std::erase_if(ranges, [](const OwnedRange& range) { return range.begin >= range.end; });
  std::ranges::sort(ranges, {}, &OwnedRange::begin);
  std::vector<std::uint64_t> borders;
  borders.reserve(2 * ranges.size());
  for (const OwnedRange& range : ranges) borders.insert(borders.end(), {range.begin, range.end});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  const auto is_lower = [](const OwnedRange& a, const OwnedRange& b) { return a.owner < b.owner; };
  std::priority_queue<OwnedRange, std::vector<OwnedRange>, decltype(is_lower)> open(is_lower);
  auto next = ranges.begin();
  for (const std::uint64_t border : borders) {
    for (; next != ranges.end() && next->begin == border; ++next) open.push(*next);
    while (!open.empty() && open.top().end <= border) open.pop();
    const std::uint32_t owner = open.empty() ? none : open.top().owner;
    if (parts_.empty() || parts_.back().owner != owner) parts_.push_back({border, owner});
  }
}

std::uint32_t FlatRanges::owner_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::begin);
  return after == parts_.begin() ? none : std::prev(after)->owner;
}

namespace {

/// Entries in entries. Programs have tens; each takes memory as long as it is open.
constexpr std::size_t most_nesting = 4096;
/// Calls in calls: compilers inline tens.
constexpr std::uint32_t most_inlined = 256;
/// Bytes of a name that is put together with others. Those of a damaged file may share bytes.
constexpr std::size_t longest_part = 4096;

std::uint32_t in_32_bits(std::uint64_t number) {
  return number > 0xffffffff ? 0 : static_cast<std::uint32_t>(number);
}

}  // namespace

/// An entry whose children are read.
struct Calls::Open {
  Call call;
  std::uint16_t tag = 0;
  std::uint32_t number = Call::none;  ///< of the call, if it is kept
  std::uint32_t depth = 0;            ///< of inlined calls
  bool is_call = false;
};

class Calls::Walk {
 public:
  Walk(Calls& calls, const Unit& unit)
      : calls_(&calls), unit_(&unit), work_(16 * (unit.end - unit.first_entry)), reader_(unit, unit.first_entry) {}

  std::vector<OwnedRange> run() {
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const Abbreviation* const abbreviation = reader_.next();
      if (abbreviation == nullptr) {
        if (!open_.empty()) open_.pop_back();
        continue;
      }
      const bool is_call = abbreviation->tag == tag::subprogram || abbreviation->tag == tag::inlined_subroutine;
      if (is_call || !abbreviation->is_fixed) work_.take(abbreviation->spec_count);
      Open entry;
      entry.tag = abbreviation->tag;
      entry.call.entry = offset;
      if (entry.tag == tag::subprogram) find_class(offset);
      if (is_call) {
        read_call(*abbreviation, entry);
      } else {
        reader_.skip(*abbreviation);
      }
      if (!abbreviation->has_children) continue;
      if (open_.size() == most_nesting) throw MalformedInput(debug_origin, offset, "entries are nested too deeply");
      open_.push_back(entry);
    }
    return std::move(owned_);
  }

 private:
  /// Remembers the class that the function at `offset` is a member of, if a function has that class.
  void find_class(std::uint64_t offset) {
    const auto is_class = [](const Open& entry) {
      return entry.tag == tag::structure_type || entry.tag == tag::class_type;
    };
    if (open_.empty() || !is_class(open_.back())) return;
    // A damaged unit may have an entry for each byte.
    constexpr std::uint64_t least_size = 16;
    if (calls_->in_classes_.size() >= (unit_->end - unit_->first_entry) / least_size) return;
    constexpr std::size_t most_blocks = 16;
    const std::size_t last = open_.size() - 1;
    for (std::size_t i = last; i-- > last - std::min(last, most_blocks);) {
      if (open_[i].tag == tag::lexical_block) continue;
      if (open_[i].tag != tag::subprogram) return;
      const InClass place{open_.back().call.entry, open_[i].call.entry};
      calls_->in_classes_.emplace(offset, place);
      std::vector<std::uint64_t>& classes = calls_->classes_[place.function];
      if (classes.empty() || classes.back() != place.class_entry) classes.push_back(place.class_entry);
      return;
    }
  }

  void read_call(const Abbreviation& abbreviation, Open& entry) {
    entry.is_call = true;
    entry.call.is_inlined = abbreviation.tag == tag::inlined_subroutine;
    AttributeValue low, high, ranges;
    reader_.read(abbreviation, [&](std::uint16_t attribute, const AttributeValue& value) {
      if (attribute == attribute::low_pc) low = value;
      if (attribute == attribute::high_pc) high = value;
      if (attribute == attribute::ranges) ranges = value;
      if (attribute == attribute::call_file) entry.call.call_file = in_32_bits(value.number);
      if (attribute == attribute::call_line) entry.call.call_line = in_32_bits(value.number);
    });
    found_.clear();
    unit_->file->add_ranges(*unit_, low, high, ranges, found_);
    if (found_.empty()) return;
    keep(entry, open_.size());
    for (const Range& range : found_) owned_.push_back({range.begin, range.end, entry.number});
  }

  /// Gives a call a number, which is higher than those of the calls around it: `around` entries are around it.
  void keep(Open& entry, std::size_t around) {
    if (entry.number != Call::none) return;
    std::vector<Open*> kept{&entry};
    while (kept.back()->call.is_inlined && around != 0) {
      Open& outer = open_[--around];
      if (!outer.is_call) continue;
      kept.push_back(&outer);
      if (outer.number != Call::none) break;
    }
    const Open* parent = nullptr;
    for (; !kept.empty(); kept.pop_back()) {
      Open& next = *kept.back();
      if (next.number == Call::none) add(next, parent);
      parent = &next;
    }
  }

  void add(Open& entry, const Open* parent) {
    if (parent != nullptr) entry.call.parent = parent->number;
    if (parent != nullptr) entry.depth = parent->depth + 1;
    if (entry.depth > most_inlined) throw MalformedInput(debug_origin, entry.call.entry, "calls are nested too deeply");
    entry.number = static_cast<std::uint32_t>(calls_->calls_.size());
    calls_->calls_.push_back(entry.call);
  }

  Calls* calls_;
  const Unit* unit_;
  Budget work_;  ///< attributes: those without bytes are in any number of entries
  EntryReader reader_;
  std::vector<Open> open_;
  std::vector<Range> found_;
  std::vector<OwnedRange> owned_;
};

Calls::Calls(const Unit& unit) : unit_(&unit) {
  by_address_ = FlatRanges(Walk(*this, unit).run());
}

Call* Calls::innermost_at(std::uint64_t address) {
  const std::uint32_t owner = by_address_.owner_at(address);
  return owner == FlatRanges::none ? nullptr : &calls_[owner];
}

std::string_view Calls::name_of(Call& call) {
  if (std::exchange(call.has_name, true)) return call.name;
  try {
    const FunctionName name = function_name(*unit_, call.entry);
    call.name = name.text;
    const auto place = name.place.unit == unit_ ? in_classes_.find(name.place.offset) : in_classes_.end();
    if (!name.is_linkage_name && place != in_classes_.end()) name_by_class(call, place->second);
  } catch (const MalformedInput&) {
    // It stays without one.
  }
  return call.name;
}

/// Compilers give a lambda no linkage name where it is inlined, so all of them would be "operator()".
void Calls::name_by_class(Call& call, const InClass& place) {
  constexpr unsigned most_nested = 8;
  const auto is_short = [](std::string_view name) { return !name.empty() && name.size() <= longest_part; };
  if (!is_short(call.name)) return;
  std::string inside = class_name(place) + "::" + std::string(call.name);
  FunctionName function = function_name(*unit_, place.function);
  auto outer = in_classes_.find(place.function);
  for (unsigned i = 0; i < most_nested && !function.is_linkage_name && outer != in_classes_.end(); ++i) {
    if (!is_short(function.text)) return;
    inside.insert(0, class_name(outer->second) + "::" + std::string(function.text) + "::");
    function = function_name(*unit_, outer->second.function);
    outer = in_classes_.find(outer->second.function);
  }
  if (!is_short(function.text)) return;
  call.name = keep(std::move(inside));
  around_.emplace(call.entry, keep(std::string(function.text)));
}

/// "{lambda#2}" of the second class without a name in its function.
std::string Calls::class_name(const InClass& place) {
  const auto known = class_names_.find(place.class_entry);
  if (known != class_names_.end()) return known->second;
  unsigned lambdas = 0;
  for (const std::uint64_t entry : classes_[place.function]) {
    constexpr std::size_t longest_class = 128;  // all of a function are kept
    const std::string_view name = function_name(*unit_, entry).text.substr(0, longest_class);
    const bool has_none = name.empty() || name.starts_with('<');
    class_names_.emplace(entry, has_none ? "{lambda#" + std::to_string(++lambdas) + "}" : std::string(name));
  }
  return class_names_[place.class_entry];
}

std::string_view Calls::around(const Call& call) const {
  const auto found = around_.find(call.entry);
  return found == around_.end() ? std::string_view{} : found->second;
}

void Calls::keep_names() {
  for (Call& call : calls_) {
    call.name = keep(std::string(name_of(call)));
  }
}

}  // namespace sframe_gen::trace::dwarf
