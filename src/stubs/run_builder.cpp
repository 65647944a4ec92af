#include "stubs/run_builder.hpp"

#include <algorithm>
#include <utility>

namespace sframe_gen::stubs {

namespace {

/// Whether an entry that unwinds as `pattern` says can join the run before it.
bool continues(const Run& run, const Pattern& pattern, std::uint64_t start) {
  if (run.end() != start || run.rows.size() != pattern.rows.size()) return false;
  if (run.rows.size() > 1 && run.repeat_size != pattern.size()) return false;
  return std::ranges::equal(run.rows, pattern.rows, [](const cfi::FrameRow& a, const StubRow& b) {
    return b.rules && a.pc_offset == b.offset && a.rules == *b.rules;
  });
}

}  // namespace

void RunBuilder::add_header(const Pattern& pattern, std::uint64_t start) {
  append(pattern, start, false);
}

void RunBuilder::add_entry(const Pattern& pattern, std::uint64_t start) {
  const bool is_as_before = &pattern == joined_ && runs_.back().end() == start;
  if (!is_as_before && (!last_is_entry_ || !continues(runs_.back(), pattern, start)))
    return append(pattern, start, true);
  joined_ = &pattern;
  known_bytes_ += pattern.size();
  runs_.back().size += pattern.size();
  ++runs_.back().entries;
}

/// Everything that the pattern says of its bytes; what has no rules is left out.
void RunBuilder::append(const Pattern& pattern, std::uint64_t start, bool is_entry) {
  known_bytes_ += pattern.size();
  joined_ = nullptr;
  Run run;
  const auto close = [&](std::uint64_t end) {
    if (run.rows.empty()) return;
    run.size = end - run.start;
    run.form = form_;
    if (is_entry && run.rows.size() > 1) run.repeat_size = static_cast<std::uint8_t>(pattern.size());
    runs_.push_back(std::exchange(run, {}));
    last_is_entry_ = is_entry;
  };
  for (const StubRow& row : pattern.rows) {
    if (!row.rules) {
      close(start + row.offset);
      continue;
    }
    if (run.rows.empty()) run.start = start + row.offset;
    run.rows.push_back({start + row.offset - run.start, *row.rules});
  }
  close(start + pattern.size());
}

}  // namespace sframe_gen::stubs
