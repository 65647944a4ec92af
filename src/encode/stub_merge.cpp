#include "encode/stub_merge.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "cfi/frame_source.hpp"
#include "emit/dialect.hpp"
#include "encode/coverage.hpp"
#include "sframe/names.hpp"

namespace sframe_gen::encode {

namespace {

using cfi::Function;
using cfi::Row;
using cfi::Rules;

Function function_of(const rows::stubs::StubRun& run, cfi::RuleTable& rules) {
  Function function{run.start, run.size, false, {}, false, run.repeat_size};
  for (const rows::stubs::StubRow& row : run.rows) function.rows.push_back({row.offset, rules.intern(*row.rules)});
  return function;
}

/// The rows of a function, PC by PC.
class RowsByPc {
 public:
  RowsByPc(const Function& function, const cfi::RuleTable& rules) : function_(function), rules_(rules) {}

  /// With the expression of GNU ld worked out.
  Rules rules_at(std::uint64_t pc) const {
    Rules rules = rules_[std::prev(next_row(pc))->rule];
    if (const auto* const stub = std::get_if<cfi::PltStub>(&rules.cfa)) {
      const bool pushed = pc % cfi::plt_entry_size >= stub->threshold;
      cfi::Formula cfa{stub->base, stub->offset, false};
      // An offset that wraps is no stub's.
      if (pushed) static_cast<void>(__builtin_add_overflow(stub->offset, cfi::plt_push_size, &cfa.offset));
      rules.cfa = cfa;
    }
    return rules;
  }

  /// Where the row that holds at `pc` ends.
  std::uint64_t end_of_row(std::uint64_t pc) const {
    const auto next = next_row(pc);
    const std::uint64_t block_size = function_.repeat_size != 0 ? function_.repeat_size : function_.size;
    return pc - offset_of(pc) + (next == function_.rows.end() ? block_size : next->pc_offset);
  }

  /// Up to where rules_at() is the same.
  std::uint64_t end_of_rules(std::uint64_t pc) const {
    const std::uint64_t end = end_of_row(pc);
    const auto* const stub = std::get_if<cfi::PltStub>(&rules_[std::prev(next_row(pc))->rule].cfa);
    if (stub == nullptr) return end;
    const std::uint64_t entry = pc - pc % cfi::plt_entry_size, pushed = entry + stub->threshold;
    return std::min(end, pc < pushed && stub->threshold < cfi::plt_entry_size ? pushed : entry + cfi::plt_entry_size);
  }

 private:
  std::uint64_t offset_of(std::uint64_t pc) const {
    const std::uint64_t offset = pc - function_.start;
    return function_.repeat_size != 0 ? offset % function_.repeat_size : offset;
  }
  std::vector<Row>::const_iterator next_row(std::uint64_t pc) const {
    return std::ranges::upper_bound(function_.rows, offset_of(pc), {}, &Row::pc_offset);
  }

  const Function& function_;
  const cfi::RuleTable& rules_;
};

bool say_the_same(const Rules& a, const Rules& b, const emit::Dialect& dialect) {
  return a == b || emit::represent(a, dialect) == emit::represent(b, dialect);
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

}  // namespace

rows::stubs::StubList without_code_of_functions(rows::stubs::StubList found, const cfi::FrameSource& source) {
  if (found.knows_sections) return found;
  const std::vector<cfi::FrameSource::Record> records = source.records();
  auto record = records.begin();
  std::uint64_t end = 0;  // of the functions that begin before the section
  std::erase_if(found.sections, [&](const Range& section) {
    for (; record != records.end() && record->pcs.begin < section.begin; ++record) end = std::max(end, record->pcs.end);
    return section.begin < end;
  });
  std::erase_if(found.runs, [&](const rows::stubs::StubRun& run) {
    const auto section = std::ranges::upper_bound(found.sections, run.start, {}, &Range::end);
    return section == found.sections.end() || run.start < section->begin;
  });
  return found;
}

Function without_unknown_stubs(const Function& function, cfi::RuleTable& rules) {
  Function rest = function;
  for (Row& row : rest.rows) {
    const bool is_stub = std::holds_alternative<cfi::PltStub>(rules[row.rule].cfa);
    if (is_stub) row.rule = rules.intern(cfi::unknown_rules(cfi::UnknownReason::UnknownStub));
  }
  return rest;
}

StubMerge::StubMerge(const rows::stubs::StubList& found, Range pcs, cfi::RuleTable& rules, const emit::Dialect& dialect,
                     Encode encode, Coverage& coverage)
    : found_(found), rules_(rules), dialect_(dialect), encode_(std::move(encode)), coverage_(coverage) {
  const auto first = std::ranges::lower_bound(found.runs, pcs.begin, {}, &rows::stubs::StubRun::start);
  left_ = std::span(first, std::ranges::lower_bound(found.runs, pcs.end, {}, &rows::stubs::StubRun::start));
}

void StubMerge::add(const Function& function) {
  add_stubs_before(function.start);
  next_ = next_stubs(function.start);
  if (!affect(function)) return count(function.size, encode_(function), coverage_);
  auto run = std::ranges::upper_bound(found_.runs, function.start, {}, &rows::stubs::StubRun::end);
  std::uint64_t at = function.start;
  emit::SplitFunction outside;
  for (; run != found_.runs.end() && run->start < function.end(); ++run) {
    add_outside(function, at, run->start, outside);
    add_stubs_before(run->start + 1);
    compare(function, *run);
    at = std::min(function.end(), run->end());
  }
  add_outside(function, at, function.end(), outside);
  count(function.size, outside, coverage_);
}

/// The start of the first stub, or section of stubs, that ends after `address`.
std::uint64_t StubMerge::next_stubs(std::uint64_t address) const {
  const auto run = std::ranges::upper_bound(found_.runs, address, {}, &rows::stubs::StubRun::end);
  const auto section = std::ranges::upper_bound(found_.sections, address, {}, &Range::end);
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  return std::min(run == found_.runs.end() ? none : run->start,
                  section == found_.sections.end() ? none : section->begin);
}

void StubMerge::finish() {
  add_stubs_before(std::numeric_limits<std::uint64_t>::max());
}

void StubMerge::add_stubs_before(std::uint64_t address) {
  for (; !left_.empty() && left_.front().start < address; left_ = left_.subspan(1)) add_stub(left_.front());
}

void StubMerge::add_stub(const rows::stubs::StubRun& run) {
  count_stubs(run, encode_(function_of(run, rules_)), coverage_);
}

/// Encodes [begin, end) of a function, where no known stub is.
void StubMerge::add_outside(const Function& function, std::uint64_t begin, std::uint64_t end,
                            emit::SplitFunction& all) {
  while (begin < end) {
    const auto section = std::ranges::upper_bound(found_.sections, begin, {}, &Range::end);
    const bool inside = section != found_.sections.end() && section->begin <= begin;
    const std::uint64_t next =
        section == found_.sections.end() ? end : std::min(end, inside ? section->end : section->begin);
    Function part = cfi::part_of(function, begin, next);
    if (inside) part.rows = {{0, rules_.intern(cfi::unknown_rules(cfi::UnknownReason::UnknownStub))}};
    const emit::SplitFunction& split = encode_(part);
    all.fdes.insert(all.fdes.end(), split.fdes.begin(), split.fdes.end());
    all.holes.insert(all.holes.end(), split.holes.begin(), split.holes.end());
    begin = next;
  }
}

/// Compares call frame information of a stub with its instructions, at each PC. Within a row of the former, both start
/// over after an entry or are the same everywhere: once they agree over an entry, they agree up to the row's end.
void StubMerge::compare(const Function& function, const rows::stubs::StubRun& run) {
  const std::uint64_t begin = std::max(function.start, run.start), end = std::min(function.end(), run.end());
  coverage_.stubs.bytes_without_cfi -= end - begin;
  const Function stub = function_of(run, rules_);
  const RowsByPc right(stub, rules_), said(function, rules_);
  const bool starts_over =
      function.repeat_size == 0 && (run.repeat_size == cfi::plt_entry_size || run.rows.size() == 1);
  StubContradiction* open = nullptr;
  std::uint64_t row_end = begin, agreed_from = begin;
  for (std::uint64_t next = begin; next < end;) {
    const std::uint64_t pc = next;
    next = std::min({end, right.end_of_rules(pc), said.end_of_rules(pc)});
    if (pc >= row_end) {
      row_end = said.end_of_row(pc);
      agreed_from = pc;
    }
    const Rules by_instructions = right.rules_at(pc), by_cfi = said.rules_at(pc);
    if (say_the_same(by_instructions, by_cfi, dialect_)) {
      open = nullptr;
      if (starts_over && next - agreed_from >= cfi::plt_entry_size) next = std::min(end, row_end);
      continue;
    }
    agreed_from = next;
    const sframe::Abi abi = dialect_.abi->abi;
    StubContradiction found{pc, next, {}, text_of(by_instructions, abi), text_of(by_cfi, abi)};
    if (open != nullptr && open->instructions == found.instructions && open->cfi == found.cfi) {
      open->end = found.end;
    } else {
      open = &coverage_.contradictions.emplace_back(std::move(found));
    }
  }
}

}  // namespace sframe_gen::encode
