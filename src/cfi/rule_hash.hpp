#pragma once

#include <cstdint>

#include "cfi/frame_row.hpp"
#include "support/hash.hpp"

namespace sframe_gen::cfi {

namespace rule_hash {

inline std::uint64_t bits_of(const Formula& formula) {
  const std::uint64_t base = formula.base ? static_cast<std::uint64_t>(*formula.base) + 1 : 0;
  return static_cast<std::uint64_t>(formula.offset) * 2 + (formula.dereferenced ? 1 : 0) + (base << 40U);
}
inline std::uint64_t bits_of(const PltStub& stub) {
  return static_cast<std::uint64_t>(stub.offset) * 256 + stub.threshold +
         (static_cast<std::uint64_t>(stub.base) << 40U);
}
inline std::uint64_t bits_of(UnknownReason reason) {
  return static_cast<std::uint64_t>(reason);
}
/// The others are words of one meaning each.
template <typename Word>
std::uint64_t bits_of(const Word&) {
  return 0;
}

template <typename Rule>
std::uint64_t with(std::uint64_t hash, const Rule& rule) {
  const std::uint64_t bits = std::visit([](const auto& value) { return bits_of(value); }, rule);
  return chained(hash, bits * 8 + rule.index());
}

}  // namespace rule_hash

/// Equal rules have equal hashes.
inline std::uint64_t hash_of(const Rules& rules) {
  auto hash = static_cast<std::uint64_t>(rules.signing);
  hash = rule_hash::with(hash, rules.cfa);
  hash = rule_hash::with(hash, rules.stack_pointer);
  hash = rule_hash::with(hash, rules.frame_pointer);
  return rule_hash::with(hash, rules.return_address);
}

}  // namespace sframe_gen::cfi
