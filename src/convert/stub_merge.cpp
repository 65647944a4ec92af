#include "convert/stub_merge.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "convert/coverage.hpp"
#include "emit/lower.hpp"
#include "sframe/rule_text.hpp"

namespace sframe_gen::convert {

namespace {

using cfi::FrameRow;
using cfi::Rules;

cfi::FunctionFrames frames_of(const stubs::Run& run) {
  cfi::FunctionFrames frames;
  frames.start = run.start;
  frames.size = run.size;
  frames.rows = run.rows;
  frames.repeat_size = run.repeat_size;
  return frames;
}

/// The row that holds at an offset; `rows` has one at 0.
const Rules& rules_at(const std::vector<FrameRow>& rows, std::uint64_t offset) {
  return std::prev(std::ranges::upper_bound(rows, offset, {}, &FrameRow::pc_offset))->rules;
}

/// What the function says of one PC, with the expression of GNU ld worked out.
Rules rules_at_pc(const cfi::FunctionFrames& frames, std::uint64_t pc) {
  const std::uint64_t offset = pc - frames.start;
  Rules rules = rules_at(frames.rows, frames.repeat_size != 0 ? offset % frames.repeat_size : offset);
  if (const auto* const stub = std::get_if<cfi::PltStub>(&rules.cfa)) {
    const bool pushed = pc % cfi::plt_entry_size >= stub->threshold;
    rules.cfa = cfi::Formula{stub->base, stub->offset + (pushed ? cfi::plt_push_size : 0), false};
  }
  return rules;
}

/// Where the row that holds at `pc` ends, of a function that does not repeat.
std::uint64_t end_of_row_at(const cfi::FunctionFrames& frames, std::uint64_t pc) {
  const auto next = std::ranges::upper_bound(frames.rows, pc - frames.start, {}, &FrameRow::pc_offset);
  return frames.start + (next == frames.rows.end() ? frames.size : next->pc_offset);
}

/// Up to where it says of each PC what it says of `pc`.
std::uint64_t end_of_rules_at(const cfi::FunctionFrames& frames, std::uint64_t pc) {
  const std::uint64_t offset = frames.repeat_size != 0 ? (pc - frames.start) % frames.repeat_size : pc - frames.start;
  const auto next = std::ranges::upper_bound(frames.rows, offset, {}, &FrameRow::pc_offset);
  const std::uint64_t behind_all = frames.repeat_size != 0 ? frames.repeat_size : frames.size;
  const std::uint64_t end = pc + (next == frames.rows.end() ? behind_all : next->pc_offset) - offset;
  const auto* const stub = std::get_if<cfi::PltStub>(&std::prev(next)->rules.cfa);
  if (stub == nullptr) return end;
  const std::uint64_t entry = pc - pc % cfi::plt_entry_size, pushed = entry + stub->threshold;
  return std::min(end, pc < pushed && stub->threshold < cfi::plt_entry_size ? pushed : entry + cfi::plt_entry_size);
}

bool say_the_same(const Rules& a, const Rules& b, const emit::Dialect& dialect) {
  return a == b || emit::lower(a, dialect) == emit::lower(b, dialect);
}

std::string text_of(const cfi::Formula& formula, sframe::Abi abi) {
  const std::string base = formula.base ? sframe::register_name(abi, static_cast<std::uint64_t>(*formula.base)) : "CFA";
  return sframe::place_text(base, formula.offset, formula.dereferenced);
}

std::string text_of(const Rules& rules, sframe::Abi abi) {
  const auto* const cfa = std::get_if<cfi::Formula>(&rules.cfa);
  std::string text = "CFA " + (cfa != nullptr ? text_of(*cfa, abi) : "by another rule");
  if (const auto* const address = std::get_if<cfi::Formula>(&rules.return_address))
    text += ", RA " + text_of(*address, abi);
  if (std::holds_alternative<cfi::Undefined>(rules.return_address)) text += ", RA undefined";
  return text;
}

/// The part [begin, end) of a function, which does not repeat.
cfi::FunctionFrames part_of(const cfi::FunctionFrames& frames, std::uint64_t begin, std::uint64_t end) {
  cfi::FunctionFrames part;
  part.start = begin;
  part.size = end - begin;
  part.signal_frame = frames.signal_frame;
  part.b_key = frames.b_key;
  part.rows.push_back({0, rules_at(frames.rows, begin - frames.start)});
  for (const FrameRow& row : frames.rows) {
    const std::uint64_t pc = frames.start + row.pc_offset;
    if (pc > begin && pc < end) part.rows.push_back({pc - begin, row.rules});
  }
  return part;
}

}  // namespace

StubMerge::StubMerge(const stubs::Found& found, std::uint64_t begin, std::uint64_t end, const emit::Dialect& dialect,
                     const cfi::NumberedRules& rules, emit::Selector& selector, Put put, Coverage& coverage)
    : sections_(found.sections),
      dialect_(dialect),
      rules_(rules),
      selector_(selector),
      put_(std::move(put)),
      coverage_(coverage) {
  const auto first = std::ranges::lower_bound(found.runs, begin, {}, &stubs::Run::start);
  const auto behind = std::ranges::lower_bound(found.runs, end, {}, &stubs::Run::start);
  runs_ = std::span(first, behind);
  if (first != found.runs.begin()) last_ = &*std::prev(first);
}

void StubMerge::add(const cfi::NumberedFrames& frames) {
  const std::uint64_t end = frames.start + frames.size;
  add_stubs_before(frames.start);
  while (!sections_.empty() && sections_.front().end <= frames.start) sections_ = sections_.subspan(1);
  const bool among_stubs = (last_ != nullptr && last_->end() > frames.start) ||
                           (!runs_.empty() && runs_.front().start < end) ||
                           (!sections_.empty() && sections_.front().begin < end);
  if (among_stubs) return add_among_stubs(cfi::spelled_out(frames, rules_));
  const emit::Selected& selected = selector_.select(frames);
  put_(selected, selector_.rules());
  count(frames.size, selected, coverage_);
}

void StubMerge::finish() {
  add_stubs_before(std::numeric_limits<std::uint64_t>::max());
}

void StubMerge::add_stubs_before(std::uint64_t address) {
  while (!runs_.empty() && runs_.front().start < address) add_stub();
}

void StubMerge::add_stub() {
  last_ = &runs_.front();
  runs_ = runs_.subspan(1);
  const emit::Selected& selected = selector_.select(frames_of(*last_));
  put_(selected, selector_.rules());
  count_stubs(*last_, selected, coverage_);
}

void StubMerge::add_among_stubs(const cfi::FunctionFrames& frames) {
  const std::uint64_t end = frames.start + frames.size;
  std::uint64_t at = frames.start;
  if (last_ != nullptr && last_->end() > at) {
    compare(frames, *last_);
    at = std::min(end, last_->end());
  }
  emit::Selected outside;
  while (!runs_.empty() && runs_.front().start < end) {
    add_outside(frames, at, runs_.front().start, outside);
    add_stub();
    compare(frames, *last_);
    at = std::min(end, last_->end());
  }
  add_outside(frames, at, end, outside);
  count(frames.size, outside, coverage_);
}

/// Lowers [begin, end) of a function, where no stub is that is known.
void StubMerge::add_outside(const cfi::FunctionFrames& frames, std::uint64_t begin, std::uint64_t end,
                            emit::Selected& all) {
  while (begin < end) {
    const auto section = std::ranges::upper_bound(sections_, begin, {}, &Range::end);
    const bool inside = section != sections_.end() && section->begin <= begin;
    const std::uint64_t next = section == sections_.end() ? end : std::min(end, inside ? section->end : section->begin);
    cfi::FunctionFrames part = part_of(frames, begin, next);
    if (inside) part.rows = {{0, {cfi::UnknownReason::UnknownStub, {}, {}, {}}}};
    const emit::Selected& selected = selector_.select(part);
    put_(selected, selector_.rules());
    all.fdes.insert(all.fdes.end(), selected.fdes.begin(), selected.fdes.end());
    all.holes.insert(all.holes.end(), selected.holes.begin(), selected.holes.end());
    begin = next;
  }
}

/// Holds what call frame information says of a stub against its instructions, of each PC. Within a row both start over
/// after an entry, or are the same everywhere: where one agrees, all do.
void StubMerge::compare(const cfi::FunctionFrames& frames, const stubs::Run& run) {
  const std::uint64_t begin = std::max(frames.start, run.start);
  const std::uint64_t end = std::min(frames.start + frames.size, run.end());
  coverage_.stubs.bytes_without_cfi -= end - begin;
  const cfi::FunctionFrames right = frames_of(run);
  const bool start_over = frames.repeat_size == 0 && (run.repeat_size == cfi::plt_entry_size || run.rows.size() == 1);
  Contradiction* open = nullptr;
  std::uint64_t row_end = begin, agreed_from = begin;
  for (std::uint64_t pc = begin, next = begin; pc < end; pc = next) {
    next = std::min({end, end_of_rules_at(right, pc), end_of_rules_at(frames, pc)});
    if (pc >= row_end) {
      row_end = end_of_row_at(frames, pc);
      agreed_from = pc;
    }
    const Rules by_instructions = rules_at_pc(right, pc), by_cfi = rules_at_pc(frames, pc);
    if (say_the_same(by_instructions, by_cfi, dialect_)) {
      open = nullptr;
      if (start_over && next - agreed_from >= cfi::plt_entry_size) next = std::min(end, row_end);
      continue;
    }
    agreed_from = next;
    const sframe::Abi abi = dialect_.abi->abi;
    Contradiction found{pc, next, {}, text_of(by_instructions, abi), text_of(by_cfi, abi)};
    if (open != nullptr && open->instructions == found.instructions && open->cfi == found.cfi) {
      open->end = found.end;
    } else {
      open = &coverage_.contradictions.emplace_back(std::move(found));
    }
  }
}

}  // namespace sframe_gen::convert
