#include "cfi/overlap.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "cfi/interpreter.hpp"
#include "cfi/rules.hpp"

namespace sframe_gen::cfi {

namespace {

/// What one function says of a PC: rules in normal form, and the function's marks.
struct Claim {
  RuleId rule = 0;
  bool signal_frame = false, b_key = false;
  friend auto operator<=>(const Claim&, const Claim&) = default;  // NOLINT(modernize-use-nullptr)
};

/// From this PC on a function claims something else, or nothing.
struct Event {
  std::uint64_t pc;
  std::uint32_t function;
  std::optional<Claim> claim;
};

std::vector<Event> events_of(std::span<const Function> functions, RuleTable& rules) {
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const Function& function = functions[i];
    for (const Row& row : function.rows) {
      const RuleId rule = rules.intern(normal_form(rules[row.rule]));
      events.push_back({function.start + row.pc_offset, i, Claim{rule, function.signal_frame, function.b_key}});
    }
    events.push_back({function.end(), i, std::nullopt});
  }
  std::ranges::sort(events, {}, &Event::pc);
  return events;
}

/// What the functions at the current PC claim, and how many of them each.
class Present {
 public:
  explicit Present(std::size_t functions) : of_function_(functions) {}

  void apply(const Event& event) {
    auto& place = of_function_[event.function];
    if (place && --counts_[*place] == 0) counts_.erase(*place);
    place = event.claim;
    if (place) ++counts_[*place];
  }

  bool none() const { return counts_.empty(); }
  std::optional<Claim> agreed() const {
    return counts_.size() == 1 ? std::optional(counts_.begin()->first) : std::nullopt;
  }

 private:
  std::vector<std::optional<Claim>> of_function_;
  std::map<Claim, std::uint32_t> counts_;
};

/// Collects what holds from each PC on.
class MergedFunctions {
 public:
  explicit MergedFunctions(RuleTable& rules) : conflict_(rules.intern(unknown_rules(UnknownReason::ConflictingFdes))) {}

  void add(std::uint64_t pc, const std::optional<Claim>& agreed) {
    const bool marks_change =
        !functions_.empty() && agreed && (agreed->signal_frame != last().signal_frame || agreed->b_key != last().b_key);
    if (functions_.empty() || marks_change || pc - last().start >= UINT32_MAX) open(pc, agreed);
    const RuleId rule = agreed ? agreed->rule : conflict_;
    if (last().rows.empty() || last().rows.back().rule != rule)
      last().rows.push_back({static_cast<std::uint32_t>(pc - last().start), rule});
  }

  std::vector<Function> end(std::uint64_t pc) {
    last().size = pc - last().start;
    return std::move(functions_);
  }

 private:
  Function& last() { return functions_.back(); }

  void open(std::uint64_t pc, const std::optional<Claim>& claim) {
    if (!functions_.empty()) last().size = pc - last().start;
    functions_.push_back({pc, 0, claim && claim->signal_frame, {}, claim && claim->b_key});
  }

  RuleId conflict_;
  std::vector<Function> functions_;
};

}  // namespace

std::vector<Function> merge_overlapping(std::span<const Function> functions, RuleTable& rules) {
  const std::vector<Event> events = events_of(functions, rules);
  Present present(functions.size());
  MergedFunctions merged(rules);
  for (std::size_t i = 0; i < events.size(); ++i) {
    present.apply(events[i]);
    const bool more_here = i + 1 < events.size() && events[i + 1].pc == events[i].pc;
    if (!more_here && !present.none()) merged.add(events[i].pc, present.agreed());
  }
  return merged.end(events.back().pc);
}

Function part_of(const Function& function, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t skipped = begin - function.start;
  Function part{begin, end - begin, function.signal_frame, {}, function.b_key, function.repeat_size};
  for (auto row = std::prev(std::ranges::upper_bound(function.rows, skipped, {}, &Row::pc_offset));
       row != function.rows.end() && row->pc_offset < end - function.start; ++row)
    part.rows.push_back(
        {static_cast<std::uint32_t>(std::max<std::uint64_t>(row->pc_offset, skipped) - skipped), row->rule});
  return part;
}

}  // namespace sframe_gen::cfi
