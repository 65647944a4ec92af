#include "elf/plan/page_use_aarch64.hpp"

#include <algorithm>

namespace sframe_gen::elf::aarch64 {

namespace {

/// How far from an ADRP is near, in instructions.
constexpr std::size_t reach = 1024;

/// Whether the instruction adds low bits to the page in `page_register`, which makes an address in `wanted`.
bool completes(std::uint32_t word, unsigned page_register, std::uint64_t page, const AddressRange& wanted) {
  if (base(word) != page_register) return false;
  const auto offset = offset_from_base(word);
  return offset && wanted.contains(page + *offset);
}

}  // namespace

PageUse::PageUse(const Words& words)
    : words_(words),
      budget_(8 * words.count()),
      near_budget_(64 * words.count() + 2 * reach * 1024),
      is_seen_(words.count()) {}

bool PageUse::makes_address(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  const Reached reached = follow(adrp, page, wanted);
  return reached == Reached::Yes || (reached == Reached::Unknown && is_made_nearby(adrp, page, wanted));
}

/// Landing pads need no path of their own: a page that they share with the code that called was formed for that code's
/// own use. Calls keep all registers, as those of a compiler that knows the callee may; into callees, where callers'
/// registers mean nothing to a compiler, it is not followed.
PageUse::Reached PageUse::follow(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  const unsigned page_register = destination(words_[adrp]);
  Reached result = Reached::No;
  for (const std::size_t index : seen_) is_seen_[index] = false;
  seen_.clear();
  pending_.assign(1, adrp + 1);
  while (!pending_.empty()) {
    std::size_t at = pending_.back();
    pending_.pop_back();
    while (at < words_.count() && !is_seen_[at]) {
      if (budget_ == 0) return Reached::Yes;
      --budget_;
      is_seen_[at] = true;
      seen_.push_back(at);
      const std::uint32_t instruction = words_[at];
      if (completes(instruction, page_register, page, wanted)) return Reached::Yes;
      if (replaces(instruction, page_register)) break;
      const Branch branch = branch_of(instruction);
      if (branch.distance) pending_.push_back(at + *branch.distance);
      if (branch.is_unknown) result = Reached::Unknown;
      if (branch.ends) break;
      ++at;
    }
  }
  return result;
}

bool PageUse::is_made_nearby(std::size_t adrp, std::uint64_t page, const AddressRange& wanted) {
  if (near_budget_ < 2 * reach) return true;
  near_budget_ -= 2 * reach;
  const unsigned page_register = destination(words_[adrp]);
  const std::size_t end = std::min(words_.count(), adrp + reach);
  for (std::size_t i = adrp - std::min(adrp, reach); i < end; ++i)
    if (completes(words_[i], page_register, page, wanted)) return true;
  return false;
}

}  // namespace sframe_gen::elf::aarch64
