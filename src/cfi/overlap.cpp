#include "cfi/overlap.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "cfi/interpreter.hpp"
#include "cfi/rules.hpp"

namespace sframe_gen::cfi {

namespace {

/// What one function says of a PC.
struct Claim {
  Rules rules;
  bool signal_frame = false, b_key = false;
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct ClaimHash {
  std::size_t operator()(const Claim& claim) const {
    const std::uint64_t marks = claim.signal_frame ? 3 : claim.b_key ? 5 : 7;
    return static_cast<std::size_t>(chained(marks, hash_of(claim.rules)));
  }
};

using ClaimId = std::uint32_t;

/// From this PC on a function claims something else, or nothing.
struct Event {
  std::uint64_t pc;
  std::uint32_t function;
  std::optional<ClaimId> claim;
};

/// Gives equal claims one number.
class Claims {
 public:
  ClaimId id_of(const Claim& claim) {
    const auto [place, is_new] = ids_.try_emplace(claim, static_cast<ClaimId>(by_id_.size()));
    if (is_new) by_id_.push_back(&place->first);
    return place->second;
  }
  const Claim& at(ClaimId id) const { return *by_id_[id]; }
  std::size_t size() const { return by_id_.size(); }

 private:
  std::unordered_map<Claim, ClaimId, ClaimHash> ids_;  ///< whose elements stay where they are
  std::vector<const Claim*> by_id_;
};

std::vector<Event> events_of(const std::vector<FunctionFrames>& functions, Claims& claims) {
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const FunctionFrames& function = functions[i];
    for (const FrameRow& row : function.rows) {
      const Claim claim{normal_form(row.rules), function.signal_frame, function.b_key};
      events.push_back({function.start + row.pc_offset, i, claims.id_of(claim)});
    }
    events.push_back({function.start + function.size, i, std::nullopt});
  }
  std::ranges::sort(events, {}, &Event::pc);
  return events;
}

/// What the functions at the current PC claim: which claims there are, and by how many of them.
class Present {
 public:
  Present(std::size_t functions, std::size_t claims) : of_function_(functions), count_(claims) {}

  void apply(const Event& event) {
    auto& place = of_function_[event.function];
    if (place && --count_[*place] == 0) {
      --different_;
      sum_ -= *place;
    }
    place = event.claim;
    if (place && count_[*place]++ == 0) {
      ++different_;
      sum_ += *place;
    }
  }

  bool none() const { return different_ == 0; }
  std::optional<ClaimId> agreed() const { return different_ == 1 ? std::optional(sum_) : std::nullopt; }

 private:
  std::vector<std::optional<ClaimId>> of_function_;
  std::vector<std::uint32_t> count_;
  std::uint32_t different_ = 0;
  ClaimId sum_ = 0;  ///< of the claims there are, modulo 2^32: the claim itself where there is one
};

/// Collects what holds from each PC on.
class MergedFunctions {
 public:
  void add(std::uint64_t pc, const Claim* agreed) {
    const bool marks_change = !functions_.empty() && agreed != nullptr &&
                              (agreed->signal_frame != last().signal_frame || agreed->b_key != last().b_key);
    if (functions_.empty() || marks_change) open(pc, agreed);
    const Rules rules = agreed != nullptr ? agreed->rules : Rules{UnknownReason::ConflictingFdes, {}, {}, {}};
    if (last().rows.empty() || last().rows.back().rules != rules) last().rows.push_back({pc - last().start, rules});
  }

  std::vector<FunctionFrames> end(std::uint64_t pc) {
    last().size = pc - last().start;
    return std::move(functions_);
  }

 private:
  FunctionFrames& last() { return functions_.back(); }

  void open(std::uint64_t pc, const Claim* claim) {
    if (!functions_.empty()) last().size = pc - last().start;
    functions_.emplace_back();
    last().start = pc;
    last().signal_frame = claim != nullptr && claim->signal_frame;
    last().b_key = claim != nullptr && claim->b_key;
  }

  std::vector<FunctionFrames> functions_;
};

}  // namespace

std::vector<FunctionFrames> merge_overlapping(const std::vector<FunctionFrames>& functions) {
  Claims claims;
  const std::vector<Event> events = events_of(functions, claims);
  Present present(functions.size(), claims.size());
  MergedFunctions merged;
  for (std::size_t i = 0; i < events.size(); ++i) {
    present.apply(events[i]);
    const bool more_here = i + 1 < events.size() && events[i + 1].pc == events[i].pc;
    if (more_here || present.none()) continue;
    const auto agreed = present.agreed();
    merged.add(events[i].pc, agreed ? &claims.at(*agreed) : nullptr);
  }
  return merged.end(events.back().pc);
}

FunctionFrames part_of(FunctionFrames function, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t skipped = begin - function.start;
  std::erase_if(function.rows, [&](const FrameRow& row) { return row.pc_offset >= end - function.start; });
  const auto after = std::ranges::upper_bound(function.rows, skipped, {}, &FrameRow::pc_offset);
  function.rows.erase(function.rows.begin(), std::prev(after));
  for (FrameRow& row : function.rows) row.pc_offset -= std::min(row.pc_offset, skipped);
  function.start = begin;
  function.size = end - begin;
  return function;
}

}  // namespace sframe_gen::cfi
