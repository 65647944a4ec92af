#include "dwarf/calls.hpp"

#include <algorithm>
#include <utility>

#include "dwarf/constants.hpp"
#include "dwarf/entry.hpp"

namespace sframe_gen::dwarf {

namespace {

/// Entries in entries. Programs have tens; each takes memory as long as it is open.
constexpr std::size_t most_nesting = 4096;
/// Calls in calls: compilers inline tens.
constexpr std::uint32_t most_inlined = 256;

std::uint32_t in_32_bits(std::uint64_t number) {
  return number > 0xffffffff ? 0 : static_cast<std::uint32_t>(number);
}

}  // namespace

/// An entry whose children are read.
struct Calls::Open {
  Call call;
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
      if (is_call) {
        read_call(*abbreviation, offset, entry);
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
  void read_call(const Abbreviation& abbreviation, std::uint64_t offset, Open& entry) {
    entry.is_call = true;
    entry.call.entry = offset;
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
    call.name = function_name(*unit_, call.entry);
  } catch (const MalformedInput&) {
    // It stays without one.
  }
  return call.name;
}

void Calls::keep_names() {
  for (Call& call : calls_) {
    const std::string_view name = name_of(call);
    call.name = *kept_names_.emplace(name).first;
  }
}

}  // namespace sframe_gen::dwarf
