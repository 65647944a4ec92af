#include "emit/lowering_cache.hpp"

#include <cstdint>

namespace sframe_gen::emit {

namespace {

constexpr std::size_t slot_count = 256;

/// Mixes what varies most: where the CFA is, and whether and where the frame pointer is saved.
std::size_t slot_of(const cfi::Rules& rules) {
  const auto* cfa = std::get_if<cfi::Formula>(&rules.cfa);
  const auto* fp = std::get_if<cfi::Formula>(&rules.frame_pointer);
  const bool on_fp = cfa != nullptr && cfa->base == cfi::amd64::rbp;
  const std::uint64_t cfa_part = cfa == nullptr ? 0 : static_cast<std::uint64_t>(cfa->offset) / 4 + (on_fp ? 1 : 0);
  const std::uint64_t fp_part = fp == nullptr ? 0 : static_cast<std::uint64_t>(fp->offset) / 8 * 37 + 1;
  return (cfa_part + fp_part) % slot_count;
}

}  // namespace

LoweringCache::LoweringCache() : slots_(slot_count, Slot{{}, lower_amd64({})}) {}

const Lowered& LoweringCache::lower(const cfi::Rules& rules) {
  Slot& slot = slots_[slot_of(rules)];
  if (slot.rules != rules) slot = {rules, lower_amd64(rules)};
  return slot.lowered;
}

}  // namespace sframe_gen::emit
