#include "sframe/lookup.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/lookup.hpp"

namespace sframe_gen::sframe {

namespace {

bool continues(const PcRow& before, const PcRow& row) {
  return before.end == row.begin && before.recovery == row.recovery && before.signal_frame == row.signal_frame &&
         before.b_key == row.b_key;
}

bool holds(const Fde& fde, std::uint64_t pc) {
  return pc >= fde.start && pc - fde.start < fde.size;
}

}  // namespace

void check_repeats(const Section& section, const std::string& name) {
  constexpr std::uint64_t most = 1U << 20U;  // 16 MiB of PLT; about 100 bytes of memory for each
  std::uint64_t rows = 0;
  for (const Fde& fde : section.fdes) {
    if (fde.pc_type != PcType::Mask || fde.repeat_size == 0) continue;
    rows += (std::uint64_t{fde.size} / fde.repeat_size + 1) * fde.fres.size();
    if (rows > most) throw Refused(name, "functions repeat their rows more than " + std::to_string(most) + " times");
  }
}

std::vector<PcRow> pc_rows(const Section& section) {
  std::vector<PcRow> rows;
  for (const Fde& fde : section.fdes) {
    const auto add = [&](std::uint64_t begin, std::uint64_t end, const Fre& fre) {
      const bool is_signed = fre.recovery && fre.recovery->mangled_ra;
      rows.push_back({fde.start + begin, fde.start + end, fre.recovery, fde.signal_frame, is_signed && fde.b_key});
    };
    if (is_outermost_throughout(fde, section.version)) {
      add(0, fde.size, {});
    } else {
      for_each_interval(fde, add);
    }
  }
  std::erase_if(rows, [](const PcRow& row) { return row.begin == row.end; });
  std::ranges::sort(rows, {}, &PcRow::begin);
  std::vector<PcRow> joined;
  for (const PcRow& row : rows) {
    if (!joined.empty() && continues(joined.back(), row)) {
      joined.back().end = row.end;
    } else {
      joined.push_back(row);
    }
  }
  return joined;
}

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
