#include "verify/fde_index.hpp"

#include <algorithm>
#include <limits>

namespace sframe_gen::verify {

FdeIndex::FdeIndex(const verify::DwarfSession& session, const elf::Image& image) : session_(&session) {
  const auto& fdes = session.table().fdes;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < fdes.size(); ++i) {
    const cfi::Fde& fde = fdes[i];
    const std::uint64_t size = std::min(fde.function_size, image.code_left(fde.function_start));
    if (size == 0) continue;
    const std::uint64_t end = fde.function_start + size;
    highest_end = std::max(highest_end, end);
    spans_.push_back({fde.function_start, end, highest_end, i});
    boundaries_.insert(boundaries_.end(), {fde.function_start, end});
  }
  std::sort(boundaries_.begin(), boundaries_.end());
}

std::vector<std::size_t> FdeIndex::fdes_at(std::uint64_t pc) const {
  std::vector<std::size_t> found;
  auto it = std::upper_bound(spans_.begin(), spans_.end(), pc,
                             [](std::uint64_t p, const Span& span) { return p < span.begin; });
  while (it != spans_.begin() && std::prev(it)->highest_end > pc) {
    --it;
    if (pc < it->end) found.push_back(it->index);
  }
  return found;
}

std::uint64_t FdeIndex::boundary_after(std::uint64_t pc) const {
  const auto it = std::upper_bound(boundaries_.begin(), boundaries_.end(), pc);
  return it == boundaries_.end() ? std::numeric_limits<std::uint64_t>::max() : *it;
}

std::vector<PcRange> FdeIndex::ranges() const {
  std::vector<PcRange> ranges;
  ranges.reserve(spans_.size());
  for (const Span& span : spans_) ranges.push_back({span.begin, span.end});
  return ranges;
}

}  // namespace sframe_gen::verify
