#include "verify/code_to_follow.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

#include "elf/load_lookup.hpp"
#include "verify/emulation.hpp"
#include "verify/padding.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::uint64_t most_bytes_to_follow = 1U << 20U;
constexpr std::uint64_t small = 32;

/// What nobody calls is not entered as a stub is. Emulation looks at it by itself.
std::vector<PcRange> without_entry(const std::vector<PcRange>& ranges, std::uint64_t entry) {
  std::vector<PcRange> rest;
  for (const PcRange& range : ranges) {
    if (entry < range.begin || entry >= range.end) {
      rest.push_back(range);
      continue;
    }
    rest.push_back({range.begin, entry});
    if (range.end - entry > longest_start) rest.push_back({entry + longest_start, range.end});
  }
  return rest;
}

/// A stub's instructions are all known, and go to memory's word at most. A small function's need not be; and what a
/// compiler has split off from a function, which nobody calls, calls something itself or jumps back.
bool is_plain_stub(const elf::Image& image, const PcRange& range, sframe::Abi abi) {
  std::span<const std::byte> code = elf::loaded_bytes(image, range.begin, range.end - range.begin);
  while (!code.empty()) {
    const auto instruction = decode_instruction(code, range.end - code.size(), abi);
    if (!instruction) return false;
    const Flow flow = instruction->flow;
    if (flow == Flow::Call || flow == Flow::Jump || flow == Flow::Branch) return false;
    code = code.subspan(instruction->size);
  }
  return true;
}

/// Of `ranges`, the stubs that are next to one of `stubs`.
std::vector<PcRange> neighbours(const std::vector<PcRange>& ranges, const std::vector<PcRange>& stubs,
                                const elf::Image& image, sframe::Abi abi) {
  std::unordered_set<std::uint64_t> borders;
  for (const PcRange& range : stubs) borders.insert({range.begin, range.end});
  std::vector<PcRange> found;
  std::ranges::copy_if(ranges, std::back_inserter(found), [&](const PcRange& range) {
    const bool is_beside = borders.contains(range.begin) || borders.contains(range.end);
    return is_beside && is_plain_stub(image, range, abi);
  });
  return found;
}

}  // namespace

std::vector<PcRange> code_to_follow(const sframe::Section& section, const elf::Image& image,
                                    const std::vector<PcRange>& described) {
  if (image.has_section_headers()) return {};
  std::vector<PcRange> with_rows, repeated, few_bytes;
  for (const sframe::Fde& fde : section.fdes) {
    if (fde.size == 0 || !image.is_code(fde.start, fde.size)) continue;
    const PcRange range{fde.start, fde.start + fde.size};
    (fde.pc_type == sframe::PcType::Mask ? repeated : with_rows).push_back(range);
    if (fde.size <= small) few_bytes.push_back(range);
  }
  std::vector<PcRange> stubs = uncovered(merged(std::move(with_rows)), described);
  std::erase_if(stubs, [&](const PcRange& range) { return is_padding(image, section.abi, range.begin, range.end); });
  stubs.insert(stubs.end(), repeated.begin(), repeated.end());
  stubs = merged(without_entry(stubs, image.header().e_entry), largest_gap_in_stubs);
  const std::vector<PcRange> beside = neighbours(few_bytes, stubs, image, section.abi);
  stubs.insert(stubs.end(), beside.begin(), beside.end());
  stubs = merged(std::move(stubs), largest_gap_in_stubs);
  std::uint64_t bytes = 0;
  std::erase_if(stubs, [&](const PcRange& range) { return (bytes += range.end - range.begin) > most_bytes_to_follow; });
  return stubs;
}

}  // namespace sframe_gen::verify
