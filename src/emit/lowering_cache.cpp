#include "emit/lowering_cache.hpp"

#include <cstdint>

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

}  // namespace

LoweringCache::LoweringCache(const Dialect& dialect)
    : dialect_(dialect), slots_(slot_count, Slot{{}, emit::lower({}, dialect)}) {}

const Lowered& LoweringCache::lower(const cfi::Rules& rules) {
  Slot& slot = slots_[slot_of(rules)];
  if (slot.rules != rules) slot = {rules, emit::lower(rules, dialect_)};
  return slot.lowered;
}

}  // namespace sframe_gen::emit
