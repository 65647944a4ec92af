#include "emit/lowering_cache.hpp"

#include <cstdint>

#include "emit/default_form.hpp"

namespace sframe_gen::emit {

namespace {

constexpr std::size_t slot_count = 256;

/// Mixes what varies most: where the CFA is, and whether and where the frame pointer is saved.
std::size_t slot_of(const cfi::Rules& rules) {
  const auto* cfa = std::get_if<cfi::Formula>(&rules.cfa);
  const auto* fp = std::get_if<cfi::Formula>(&rules.frame_pointer);
  const std::uint64_t base = cfa == nullptr || !cfa->base ? 0 : static_cast<std::uint64_t>(*cfa->base);
  const std::uint64_t cfa_part = cfa == nullptr ? 0 : static_cast<std::uint64_t>(cfa->offset) / 4 + base;
  const std::uint64_t fp_part = fp == nullptr ? 0 : static_cast<std::uint64_t>(fp->offset) / 8 * 37 + 1;
  return (cfa_part + fp_part) % slot_count;
}

LoweringCache::Entry entry_of(const cfi::Rules& rules, const Dialect& dialect) {
  const Lowered lowered = emit::lower(rules, dialect);
  const auto* const recovery = std::get_if<sframe::RecoveryRules>(&lowered);
  return {rules, lowered, recovery == nullptr || !obstacle_to_default(*recovery, dialect)};
}

}  // namespace

LoweringCache::LoweringCache(const Dialect& dialect) : dialect_(dialect), slots_(slot_count, entry_of({}, dialect)) {}

const LoweringCache::Entry& LoweringCache::lower(const cfi::Rules& rules) {
  Entry& slot = slots_[slot_of(rules)];
  if (slot.rules != rules) slot = entry_of(rules, dialect_);
  return slot;
}

}  // namespace sframe_gen::emit
