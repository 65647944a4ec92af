#pragma once

#include <cstdint>
#include <variant>

#include "cfi/frame_row.hpp"
#include "support/hash.hpp"

namespace sframe_gen::cfi {

namespace rule_hash {

inline std::uint64_t with(std::uint64_t hash, const Formula& formula) {
  const std::uint64_t base = formula.base ? static_cast<std::uint64_t>(*formula.base) + 1 : 0;
  return chained(chained(hash, base * 2 + (formula.dereferenced ? 1 : 0)), static_cast<std::uint64_t>(formula.offset));
}
inline std::uint64_t with(std::uint64_t hash, const PltStub& stub) {
  return chained(chained(hash, static_cast<std::uint64_t>(stub.base) * 256 + stub.threshold),
                 static_cast<std::uint64_t>(stub.offset));
}
inline std::uint64_t with(std::uint64_t hash, UnknownReason reason) {
  return chained(hash, static_cast<std::uint64_t>(reason));
}
/// The others are words of one meaning each.
template <typename Word>
std::uint64_t with(std::uint64_t hash, const Word&) {
  return hash;
}

template <typename... Words>
std::uint64_t with(std::uint64_t hash, const std::variant<Words...>& rule) {
  const std::uint64_t kind = chained(hash, rule.index());
  return std::visit([kind](const auto& value) { return with(kind, value); }, rule);
}

}  // namespace rule_hash

/// Equal rules have equal hashes of one seed.
inline std::uint64_t hash_of(const Rules& rules, std::uint64_t seed = seed_of_run()) {
  std::uint64_t hash = chained(seed, static_cast<std::uint64_t>(rules.signing));
  hash = rule_hash::with(hash, rules.cfa);
  hash = rule_hash::with(hash, rules.stack_pointer);
  hash = rule_hash::with(hash, rules.frame_pointer);
  return rule_hash::with(hash, rules.return_address);
}

}  // namespace sframe_gen::cfi
