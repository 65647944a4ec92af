#include "sframe/pc_rows.hpp"

#include <algorithm>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/find_rows.hpp"

namespace sframe_gen::sframe {

namespace {

bool continues(const PcRow& before, const PcRow& row) {
  return before.end == row.begin && before.recovery == row.recovery && before.signal_frame == row.signal_frame &&
         before.b_key == row.b_key;
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

}  // namespace sframe_gen::sframe
