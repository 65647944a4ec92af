#include "code/program.hpp"

#include <algorithm>

#include "code/function.hpp"

namespace sframe_gen::code {

namespace {

/// Each round takes what is now known of callees to their callers. More than a few change nothing in real files.
constexpr int most_rounds = 4;

/// Whether CFI begins as at a function's entry: CFA = rsp + 8.
bool begins_as_an_entry(const cfi::Function& function, const cfi::RuleTable& rules) {
  if (function.rows.empty()) return false;
  const auto* const cfa = std::get_if<cfi::Formula>(&rules[function.rows.front().rule].cfa);
  return cfa != nullptr && *cfa == cfi::Formula{cfi::amd64::rsp, 8, false};
}

}  // namespace

CodeMarks::CodeMarks(const std::vector<Range>& code) : code_(code) {
  for (const Range& range : code) marks_.emplace_back(range.size());
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
  if (after == code_.begin()) return 0;
  const auto holder = after - 1;
  const auto& marks = marks_[static_cast<std::size_t>(holder - code_.begin())];
  const std::uint64_t begin = std::min<std::uint64_t>(range.begin - holder->begin, marks.size());
  const std::uint64_t end = std::min<std::uint64_t>(range.end - holder->begin, marks.size());
  return static_cast<std::uint64_t>(std::count_if(marks.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  marks.begin() + static_cast<std::ptrdiff_t>(end),
                                                  [](std::uint8_t mark) { return (mark & 3U) != 0; }));
}

Program::Program(const elf::Image& image, const Decoder& decoder, std::span<const cfi::Function> functions,
                 const cfi::RuleTable& rules, ProofOptions options)
    : image_(image),
      decoder_(decoder),
      described_(functions),
      rules_(rules),
      options_(options),
      imports_(image, decoder),
      names_(image),
      marks_(image.code()) {
  find_starts();
}

void Program::find_starts() {
  std::vector<std::uint64_t> starts;
  const std::vector<std::uint64_t> symbols = elf::function_starts(image_);
  const auto evidence_of = [&](std::uint64_t pc) {
    conditions::Evidence evidence;
    evidence.is_symbol = std::ranges::binary_search(symbols, pc);
    if (evidence.is_symbol) evidence.is_split_part = names_.name_at(pc).ends_with(".cold");
    return evidence;
  };
  for (const cfi::Function& function : described_) {
    conditions::Evidence evidence = evidence_of(function.start);
    evidence.begins_fde = begins_as_an_entry(function, rules_) && function.repeat_size == 0;
    if (conditions::starts_function(evidence)) starts.push_back(function.start);
  }
  for (const std::uint64_t pc : symbols)
    if (image_.is_code(pc, 1) && conditions::starts_function(evidence_of(pc))) {
      marks_.mark_sure_start(pc);
      starts.push_back(pc);
    }
  std::ranges::sort(starts);
  for (const std::uint64_t pc : starts) add_start(pc);
}

void Program::add_start(std::uint64_t pc) {
  if (!starts_.try_emplace(pc, functions_.size()).second) return;
  marks_.mark_start(pc);
  FunctionProof function;
  function.start = pc;
  const cfi::Function* const of_cfi = described(pc);
  // Code without an FDE is bounded by the next one.
  const auto next = std::ranges::upper_bound(described_, pc, {}, &cfi::Function::start);
  const std::uint64_t end = pc + image_.code_left(pc);
  function.own = {pc, of_cfi != nullptr ? of_cfi->end() : next == described_.end() ? end : std::min(end, next->start)};
  functions_.push_back(std::move(function));
}

const cfi::Function* Program::described(std::uint64_t pc) const {
  const auto after = std::ranges::upper_bound(described_, pc, {}, &cfi::Function::start);
  if (after == described_.begin() || pc >= (after - 1)->end()) return nullptr;
  return &*(after - 1);
}

CalleeEffect Program::effect_of(std::uint64_t target) const {
  const auto found = starts_.find(target);
  return found == starts_.end() ? CalleeEffect{} : functions_[found->second].effect;
}

void Program::add_tail(std::uint64_t target) {
  if (!is_start(target) && image_.is_code(target, 1)) add_start(target);
}

CalleeEffect Program::effect_of_call(std::uint64_t target) {
  add_tail(target);
  marks_.mark_sure_start(target);
  return effect_of(target);
}

void Program::prove_new(std::size_t from, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  // Calls find more functions meanwhile.
  for (std::size_t i = from; i < functions_.size(); ++i) {
    if (progress && i % 1024 == 0) progress(i, functions_.size());
    FunctionProof proof = prove_function(*this, functions_[i].start, functions_[i].own);
    functions_[i] = std::move(proof);
  }
}

std::optional<std::uint64_t> Program::taken_after(std::uint64_t address) const {
  const auto next = std::ranges::upper_bound(taken_, address);
  if (next == taken_.end()) return std::nullopt;
  return *next;
}

void Program::note_taken(const Instruction& instruction) {
  const Operand& source = instruction.operands[1];
  if (instruction.operation != Operation::LoadAddress || source.base != no_register || source.index != no_register)
    return;
  const auto address = static_cast<std::uint64_t>(source.number);
  if (image_.code_left(address) == 0) new_taken_.push_back(address);
}

void Program::sort_taken() {
  taken_.insert(taken_.end(), new_taken_.begin(), new_taken_.end());
  new_taken_.clear();
  std::ranges::sort(taken_);
  const auto rest = std::ranges::unique(taken_);
  taken_.erase(rest.begin(), rest.end());
}

void Program::prove_again() {
  std::vector<CalleeEffect> known(functions_.size());
  for (int round = 1; round < most_rounds; ++round) {
    sort_taken();
    SeededMap<std::uint64_t, bool> changed;
    known.resize(functions_.size());
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i].effect == known[i]) continue;
      known[i] = functions_[i].effect;
      changed.emplace(functions_[i].start, true);
    }
    const std::size_t count = functions_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_long_table = functions_[i].has_unbounded_table && functions_[i].refusal != Refusal::None;
      const auto is_changed = [&](std::uint64_t target) { return changed.contains(target); };
      if (!(has_long_table && round == 1) && !std::ranges::any_of(functions_[i].callees, is_changed) &&
          !std::ranges::any_of(functions_[i].tails, is_changed))
        continue;
      FunctionProof proof = prove_function(*this, functions_[i].start, functions_[i].own);
      functions_[i] = std::move(proof);
    }
    prove_new(count, {});
  }
}

void Program::refuse_unproved_tails() {
  // A function is proved by a return of its own, or by jumps to functions that are proved so.
  std::vector<bool> is_proved(functions_.size());
  std::vector<std::size_t> proved;
  SeededMap<std::uint64_t, std::vector<std::size_t>> jumps_to;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    FunctionProof& function = functions_[i];
    // Parts that were split off jump back. A landing pad's may begin with a row like that of an entry: libgnarl-12.
    if (function.refusal == Refusal::None && function.jumps_inside_another && !marks_.is_sure_start(function.start)) {
      function.refusal = Refusal::FlowsIntoFunction;
      function.refused_at = function.start;
    }
    if (function.refusal != Refusal::None) continue;
    for (const std::uint64_t tail : function.tails) jumps_to[tail].push_back(i);
    is_proved[i] = function.has_return || function.has_indirect_tail;
    if (is_proved[i]) proved.push_back(i);
  }
  while (!proved.empty()) {
    const auto found = jumps_to.find(functions_[proved.back()].start);
    proved.pop_back();
    if (found == jumps_to.end()) continue;
    for (const std::size_t i : found->second) {
      if (is_proved[i]) continue;
      is_proved[i] = true;
      proved.push_back(i);
    }
  }
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    FunctionProof& function = functions_[i];
    if (is_proved[i] || function.refusal != Refusal::None) continue;
    function.refusal = function.tails.empty() ? Refusal::NoReturn : Refusal::TailNotProved;
    function.refused_at = function.start;
  }
}

void Program::prove(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  prove_new(0, progress);
  prove_again();
  refuse_unproved_tails();
}

}  // namespace sframe_gen::code
