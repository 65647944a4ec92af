#include "elf/plan/offset_map.hpp"

#include <algorithm>

namespace sframe_gen::elf {

void OffsetMap::insert(Insertion insertion) {
  if (insertion.bytes == 0) return;
  const auto place = std::upper_bound(insertions_.begin(), insertions_.end(), insertion.at,
                                      [](std::uint64_t at, const Insertion& other) { return at < other.at; });
  insertions_.insert(place, insertion);
}

std::uint64_t OffsetMap::operator()(std::uint64_t offset) const {
  std::uint64_t shift = 0;
  for (const Insertion& insertion : insertions_) {
    if (insertion.at <= offset) shift += insertion.bytes;
  }
  return offset + shift;
}

}  // namespace sframe_gen::elf
