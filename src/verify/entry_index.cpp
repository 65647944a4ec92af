#include "verify/entry_index.hpp"

#include <algorithm>
#include <limits>

namespace sframe_gen::verify {

EntryIndex::EntryIndex(const cfi::DwarfSession& session, const elf::Image& image) : session_(&session) {
  const auto& entries = session.table().entries;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const cfi::FrameEntry& entry = entries[i];
    if (entry.function_size == 0 || !image.is_code(entry.function_start, entry.function_size)) continue;
    const std::uint64_t end = entry.function_start + entry.function_size;
    highest_end = std::max(highest_end, end);
    entries_.push_back({entry.function_start, end, highest_end, i});
    boundaries_.insert(boundaries_.end(), {entry.function_start, end});
  }
  std::sort(boundaries_.begin(), boundaries_.end());
}

std::vector<std::size_t> EntryIndex::entries_at(std::uint64_t pc) const {
  std::vector<std::size_t> found;
  auto it = std::upper_bound(entries_.begin(), entries_.end(), pc,
                             [](std::uint64_t p, const Entry& entry) { return p < entry.begin; });
  while (it != entries_.begin() && std::prev(it)->highest_end > pc) {
    --it;
    if (pc < it->end) found.push_back(it->index);
  }
  return found;
}

std::uint64_t EntryIndex::boundary_after(std::uint64_t pc) const {
  const auto it = std::upper_bound(boundaries_.begin(), boundaries_.end(), pc);
  return it == boundaries_.end() ? std::numeric_limits<std::uint64_t>::max() : *it;
}

std::vector<PcRange> EntryIndex::ranges() const {
  std::vector<PcRange> ranges;
  ranges.reserve(entries_.size());
  for (const Entry& entry : entries_) ranges.push_back({entry.begin, entry.end});
  return ranges;
}

}  // namespace sframe_gen::verify
