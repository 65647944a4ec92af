#include "rows/proof/marks.hpp"

#include <algorithm>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

CodeMarks::CodeMarks(const elf::Image& image) {
  for (const Range& range : image.code()) {
    // A file without section headers may claim more code than it has bytes for.
    const std::uint64_t size = std::min<std::uint64_t>(range.size(), elf::loaded_bytes_from(image, range.begin).size());
    code_.push_back({range.begin, range.begin + size});
    marks_.emplace_back(size);
  }
}

std::uint64_t CodeMarks::size() const {
  std::uint64_t size = 0;
  for (const Range& range : code_) size += range.size();
  return size;
}

std::span<std::uint8_t> CodeMarks::from(std::uint64_t pc) {
  if (last_ >= code_.size() || !code_[last_].contains(pc)) {
    const auto after = std::ranges::upper_bound(code_, pc, {}, &Range::begin);
    if (after == code_.begin() || !(after - 1)->contains(pc)) return {};
    last_ = static_cast<std::size_t>(after - 1 - code_.begin());
  }
  return std::span(marks_[last_]).subspan(pc - code_[last_].begin);
}

void CodeMarks::mark_start(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] |= 4U;
}

void CodeMarks::mark_label(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] = static_cast<std::uint8_t>((marks[0] & ~4U) | 16U);
}

void CodeMarks::mark_called_from_outside(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] |= 32U;
}

void CodeMarks::mark_taken(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] |= 64U;
}

void CodeMarks::mark_agreed(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] |= 128U;
}

void CodeMarks::mark_sure_start(std::uint64_t pc) {
  if (const auto marks = from(pc); !marks.empty()) marks[0] |= 8U;
}

bool CodeMarks::mark(std::uint64_t pc, unsigned size) {
  const auto marks = from(pc);
  if (marks.size() < size) return false;
  std::uint8_t others = 0;
  for (unsigned i = 1; i < size; ++i) others |= marks[i];
  if (!conditions::overlaps_none(marks[0], others)) return false;
  marks[0] |= 1U;
  for (unsigned i = 1; i < size; ++i) marks[i] |= 2U;
  return true;
}

std::uint64_t CodeMarks::reached(const Range& range) const {
  const auto after = std::ranges::upper_bound(code_, range.begin, {}, &Range::begin);
  std::ptrdiff_t count = 0;
  for (auto holder = after == code_.begin() ? after : after - 1; holder != code_.end() && holder->begin < range.end;
       ++holder) {
    if (holder->end <= range.begin) continue;
    const auto& marks = marks_[static_cast<std::size_t>(holder - code_.begin())];
    const auto place = [&](std::uint64_t pc) {
      return marks.begin() + static_cast<std::ptrdiff_t>(std::clamp(pc, holder->begin, holder->end) - holder->begin);
    };
    count += std::count_if(place(range.begin), place(range.end), [](std::uint8_t mark) { return (mark & 3U) != 0; });
  }
  return static_cast<std::uint64_t>(count);
}

}  // namespace sframe_gen::rows::proof
