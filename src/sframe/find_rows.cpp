#include "sframe_gen/find_rows.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "sframe/format.hpp"

namespace sframe_gen::sframe {

namespace {

bool holds(const Fde& fde, std::uint64_t pc) {
  return pc >= fde.start && pc - fde.start < fde.size;
}

}  // namespace

const Fde* find_fde(const Section& section, std::uint64_t pc) {
  const auto& fdes = section.fdes;
  if ((section.flags & flag::sorted) == 0) {
    const auto found = std::ranges::find_if(fdes, [&](const Fde& fde) { return holds(fde, pc); });
    return found == fdes.end() ? nullptr : &*found;
  }
  auto found = std::ranges::upper_bound(fdes, pc, {}, &Fde::start);
  // A function of no bytes may share its start with a real one, or stand inside it; it holds no pc.
  while (found != fdes.begin() && std::prev(found)->size == 0) --found;
  if (found == fdes.begin()) return nullptr;
  --found;
  return holds(*found, pc) ? &*found : nullptr;
}

bool is_outermost_throughout(const Fde& fde, Version version) {
  return version == Version::V3 && fde.type == FdeType::Default && fde.fres.empty();
}

bool has_bit_mask_fres(const Fde& fde) {
  return fde.pc_type == PcType::Mask && fde.repeat_size == 0;
}

std::uint64_t block_size(const Fde& fde) {
  if (fde.pc_type == PcType::Increment) return fde.size;
  assert(!has_bit_mask_fres(fde));
  return fde.repeat_size;
}

const Fre* find_fre(const Fde& fde, std::uint64_t pc_offset) {
  if (pc_offset >= fde.size) return nullptr;
  if (has_bit_mask_fres(fde)) {
    const auto found = std::find_if(fde.fres.rbegin(), fde.fres.rend(),
                                    [&](const Fre& fre) { return (pc_offset & fre.pc_offset) >= fre.pc_offset; });
    return found == fde.fres.rend() ? nullptr : &*found;
  }
  const auto behind = std::ranges::upper_bound(fde.fres, pc_offset % block_size(fde), {}, &Fre::pc_offset);
  return behind == fde.fres.begin() ? nullptr : &*std::prev(behind);
}

}  // namespace sframe_gen::sframe
