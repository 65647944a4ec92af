#include "rows/proof/program.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "elf/go_table.hpp"
#include "rows/proof/data_pointers.hpp"
#include "support/containers.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// Code of Go's functions. Their own table knows more of them, and they do not keep to System V.
RangeSet code_of_go(const elf::Image& image) {
  std::vector<Range> ranges;
  if (const auto table = elf::GoTable::find(image))
    for (const elf::GoTable::Entry& entry : table->entries()) ranges.push_back({entry.start, entry.end});
  return RangeSet(std::move(ranges));
}

bool contains(const RangeSet& ranges, std::uint64_t number) {
  const auto found = ranges.find(number);
  return found != ranges.end() && found->contains(number);
}

}  // namespace

bool begins_as_an_entry(const cfi::Rules& rules) {
  const auto* const cfa = std::get_if<cfi::Formula>(&rules.cfa);
  return cfa != nullptr && *cfa == cfi::Formula{cfi::amd64::rsp, 8, false};
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
      marks_(image),
      of_go_(code_of_go(image)) {
  // Real files take 0.3 to 1.3 a byte, in all rounds.
  steps_left_ = 8 * marks_.size() + (std::uint64_t{1} << 20U);
  if (const auto called_first = names_.find(conditions::called_first)) {
    called_first_ = called_first->begin;
    add_of_begin(called_first->begin);
  }
  find_starts();
}

void Program::find_starts() {
  std::vector<std::uint64_t> starts;
  const std::vector<std::uint64_t> symbols = elf::function_starts(image_);
  const auto evidence_of = [&](std::uint64_t pc) {
    conditions::Evidence evidence;
    evidence.is_symbol = std::ranges::binary_search(symbols, pc);
    if (evidence.is_symbol) evidence.is_split_part = is_split_part(pc);
    return evidence;
  };
  for (const cfi::Function& function : described_) {
    if (contains(of_go_, function.start)) continue;
    conditions::Evidence evidence = evidence_of(function.start);
    evidence.begins_fde =
        !function.rows.empty() && begins_as_an_entry(rules_[function.rows.front().rule]) && function.repeat_size == 0;
    if (conditions::starts_function(evidence)) starts.push_back(function.start);
  }
  for (const std::uint64_t pc : symbols)
    if (is_followed(pc) && conditions::starts_function(evidence_of(pc))) {
      marks_.mark_sure_start(pc);
      starts.push_back(pc);
    }
  std::ranges::sort(starts);
  for (const std::uint64_t pc : starts) add_start(pc);
}

bool Program::is_split_part(std::uint64_t pc) {
  return names_.name_at(pc).find(".cold") != std::string::npos;
}

bool Program::is_followed(std::uint64_t pc) {
  if (!image_.is_code(pc, 1) || contains(of_go_, pc)) return false;
  return described(pc) != nullptr || !conditions::is_of_another_world(names_.name_at(pc));
}

void Program::add_start(std::uint64_t pc, bool is_taken_only) {
  if (!starts_.try_emplace(pc, functions_.size()).second) return;
  marks_.mark_start(pc);
  FunctionProof function;
  function.start = pc;
  function.own = own_of(pc);
  function.is_taken_only = is_taken_only;
  functions_.push_back(std::move(function));
}

Range Program::own_of(std::uint64_t start) const {
  if (const cfi::Function* const function = described(start)) return {start, function->end()};
  std::uint64_t end = start + image_.code_left(start);
  const auto start_after = std::ranges::upper_bound(sorted_starts_, start);
  if (start_after != sorted_starts_.end()) end = std::min(end, *start_after);
  const auto described_after = std::ranges::upper_bound(described_, start, {}, &cfi::Function::start);
  if (described_after != described_.end()) end = std::min(end, described_after->start);
  const auto go_after = of_go_.find(start);
  if (go_after != of_go_.end()) end = std::min(end, std::max(start, go_after->begin));
  return {start, end};
}

bool Program::is_undescribed(std::uint64_t pc) const {
  return image_.is_code(pc, 1) && described(pc) == nullptr && !contains(of_go_, pc);
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

bool Program::is_sure_to_return(std::uint64_t target) const {
  const auto found = starts_.find(target);
  if (found == starts_.end()) return false;
  const FunctionProof& function = functions_[found->second];
  return function.refusal == Refusal::None && function.has_sure_return && !function.has_endless_end;
}

void Program::add_tail(std::uint64_t target) {
  if (!is_start(target) && is_followed(target)) add_start(target);
}

CalleeEffect Program::effect_of_call(std::uint64_t target) {
  add_tail(target);
  marks_.mark_sure_start(target);
  const auto found = starts_.find(target);
  if (found == starts_.end()) return {.is_known = false};
  functions_[found->second].is_taken_only = false;
  return functions_[found->second].effect;
}

bool Program::is_label_after_all(std::uint64_t target) {
  const auto found = starts_.find(target);
  if (found != starts_.end()) {
    FunctionProof& function = functions_[found->second];
    if (!function.is_taken_only) return false;
    function.refusal = Refusal::FlowsIntoFunction;
    function.refused_at = target;
  }
  marks_.mark_label(target);
  return true;
}

bool Program::add_label(std::uint64_t pc, const Value& stack_pointer) {
  if (is_start(pc)) return true;
  marks_.mark_label(pc);
  const auto [label, is_new] = labels_.try_emplace(pc, stack_pointer);
  if (label->second == stack_pointer) return true;
  label->second = unknown;  // the other function's proof is made again, and ends here as well
  return false;
}

bool Program::is_anothers_label(std::uint64_t pc, const Value& stack_pointer) {
  if (!marks_.is_label(pc)) return false;
  const auto label = labels_.find(pc);
  return label != labels_.end() && label->second != stack_pointer;
}

void Program::sort_starts() {
  sorted_starts_.clear();
  for (const FunctionProof& function : functions_)
    if (marks_.is_start(function.start)) sorted_starts_.push_back(function.start);
  sort_by_number(std::span(sorted_starts_), std::identity(), std::less());
}

bool Program::add_taken_starts() {
  std::vector<TakenCode> taken = std::exchange(taken_code_, {});
  std::ranges::sort(taken, {}, [](const TakenCode& code) { return std::pair(code.target, code.pc); });
  const std::size_t count = functions_.size();
  for (const TakenCode& code : taken)
    if (!is_start(code.target) && is_taken_start(code)) add_start(code.target, true);
  return functions_.size() != count;
}

bool Program::is_taken_start(const TakenCode& taken) {
  const std::uint64_t pc = taken.target;
  if (marks_.is_label(pc) || !is_undescribed(pc) || !is_followed(pc)) return false;
  const auto start_before = [&](std::uint64_t address) { return std::ranges::upper_bound(sorted_starts_, address); };
  conditions::Evidence evidence;
  evidence.is_taken = taken.pc == 0 || start_before(taken.pc) != start_before(pc) || comes_after_padding(pc);
  if (evidence.is_taken) marks_.mark_taken(pc);
  evidence.is_inside = marks_.is_reached(pc);
  evidence.is_split_part = is_split_part(pc);
  return conditions::starts_function(evidence);
}

bool Program::comes_after_padding(std::uint64_t pc) const {
  constexpr unsigned longest = 15;
  unsigned size = longest;
  while (size > 0 && !image_.is_code(pc - size, size)) --size;
  if (size == 0) return true;
  for (auto before = elf::loaded_bytes(image_, pc - size, size); !before.empty(); before = before.subspan(1)) {
    if (!Decoder::may_begin_padding(before[0])) continue;
    const Instruction padding = decoder_.decode(before, pc - before.size());
    const bool is_padding = padding.operation == Operation::Nothing || padding.operation == Operation::Trap;
    if (padding.size == before.size() && is_padding) return true;
  }
  return false;
}

std::optional<std::uint64_t> Program::taken_after(std::uint64_t address) const {
  const auto next = std::ranges::upper_bound(taken_, address);
  if (next == taken_.end()) return std::nullopt;
  return *next;
}

void Program::note_taken(std::uint64_t pc, const Instruction& instruction) {
  // A number is an address only where addresses are fixed: 0x4d5453 is "STM".
  if (instruction.operation != Operation::LoadAddress && image_.header().e_type != ET_EXEC) return;
  const std::optional<std::uint64_t> address = taken_by(instruction);
  if (!address) return;
  if (image_.code_left(*address) == 0) {
    if (instruction.operation == Operation::LoadAddress) new_taken_.push_back(*address);
  } else if (options_.proves_undescribed) {
    taken_code_.push_back({*address, pc});
  }
}

void Program::sort_taken() {
  taken_.insert(taken_.end(), new_taken_.begin(), new_taken_.end());
  new_taken_.clear();
  std::ranges::sort(taken_);
  taken_.erase(std::unique(taken_.begin(), taken_.end()), taken_.end());
}

}  // namespace sframe_gen::rows::proof
