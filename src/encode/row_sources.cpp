#include "encode/row_sources.hpp"

#include <algorithm>
#include <iterator>

namespace sframe_gen::encode {

RowSources::RowSources(const cfi::FrameSource& source, const rows::stubs::StubList& stubs) {
  auto run = stubs.runs.begin();
  const auto add_stub = [&] {
    pieces_.push_back({{run->start, run->end()}, RowSource::Instructions, run->entries});
    ++run;
  };
  for (const cfi::FrameSource::Record& record : source.records()) {
    while (run != stubs.runs.end() && run->start < record.pcs.begin) add_stub();
    std::uint64_t begin = record.pcs.begin, records = 1;
    for (;;) {
      // FDEs overlap, and so do stubs and FDEs.
      if (!pieces_.empty()) begin = std::max(begin, pieces_.back().pcs.end);
      const std::uint64_t end = run == stubs.runs.end() ? record.pcs.end : std::min(record.pcs.end, run->start);
      if (begin < end) {
        pieces_.push_back({{begin, end}, record.source, records});
        records = 0;
      }
      if (end == record.pcs.end) break;
      add_stub();
    }
  }
  while (run != stubs.runs.end()) add_stub();
}

std::optional<RowSource> RowSources::at(std::uint64_t pc, std::uint64_t start) const {
  const auto after = std::ranges::upper_bound(pieces_, pc, {}, [](const Piece& piece) { return piece.pcs.begin; });
  if (after == pieces_.begin() || std::prev(after)->pcs.end <= start) return std::nullopt;
  return std::prev(after)->source;
}

}  // namespace sframe_gen::encode
