#include "rows/proof/checker/checker.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "support/endian.hpp"
#include "support/text.hpp"

namespace sframe_gen::checker {

namespace {

constexpr Place return_slot{0, -8};

bool is_as_at_entry(const Facts& facts) {
  return facts.registers[rsp] == at(return_slot) &&
         std::ranges::find(facts.slots, std::pair(return_slot, return_address)) != facts.slots.end();
}

/// AMD64 psABI, section 3.2.2.
Facts entry_facts() {
  Facts facts;
  for (std::uint8_t reg = 0; reg < 16; ++reg) facts.registers[reg] = entry_of(reg);
  facts.registers[rsp] = at(return_slot);
  facts.slots = {{return_slot, return_address}};
  return facts;
}

std::string words_of(unsigned reg, const Value& value) {
  return std::to_string(reg) + "=" + text_of(value);
}

std::string words_of(const std::pair<Place, Value>& slot) {
  return "[" + text_of(slot.first) + "=" + text_of(slot.second);
}

}  // namespace

/// Judges one function.
class Checker::Judge {
 public:
  Judge(Checker& checker, const Function& function) : all_(checker), function_(function) {}

  void judge() {
    ++all_.counts_.functions;
    all_.counts_.steps += function_.steps.size();
    for (const Step& step : function_.steps) all_.counts_.facts += size_of(facts_of(step));
    pc_ = function_.start;
    if (const Step* const first = function_.find(function_.start)) {
      require(*first, entry_facts());
    } else {
      fault("", "its entry is not listed");
    }
    for (const Step& step : function_.steps) judge(step);
    for (const std::uint64_t pc : after_comparison_)
      if (jumped_to_.contains(pc)) fault("", "a jump leads between a comparison or probe and what relies on it", pc);
    for (const auto& [pc, address] : tables_)
      if (!taken_.contains(address)) fault("", "nothing takes the table's address", pc);
    all_.known_[function_.start] = std::move(known_);
  }

 private:
  static std::size_t size_of(const Facts& facts) {
    const auto is_known = [](const Value& value) { return !value.is(Value::Kind::Unknown); };
    return facts.slots.size() + static_cast<std::size_t>(std::ranges::count_if(facts.registers, is_known));
  }

  const Facts& facts_of(const Step& step) const { return function_.facts[step.facts]; }

  void fault(std::string fact, std::string reason) { fault(std::move(fact), std::move(reason), pc_); }
  void fault(std::string fact, std::string reason, std::uint64_t pc) {
    all_.faults_.push_back({function_.start, pc, std::move(fact), std::move(reason)});
  }

  std::span<const std::byte> code_at(std::uint64_t pc) const {
    const std::uint64_t left = all_.image_.code_left(pc);
    const auto bytes = left == 0 ? std::span<const std::byte>() : elf::loaded_bytes_from(all_.image_, pc);
    return bytes.first(std::min<std::uint64_t>({bytes.size(), left, 15}));
  }

  std::optional<Bounds> bounds_of(std::uint32_t base) {
    const auto [place, is_new] = bounds_.try_emplace(base);
    if (is_new) {  // until it is known, what is counted from itself has none
      const auto bounds = rounded_at(base);
      bounds_[base] = bounds;
      return bounds;
    }
    return place->second;
  }

  /// What the `and` at an address makes.
  std::optional<Bounds> rounded_at(std::uint32_t base) {
    const auto is_it = [&](const Step& step) { return static_cast<std::uint32_t>(step.pc) == base; };
    const auto step = std::ranges::find_if(function_.steps, is_it);
    Capstone& code = all_.other_;
    if (step == function_.steps.end() || !code.read(code_at(step->pc), step->pc) || code.id() != X86_INS_AND)
      return std::nullopt;
    const auto reg = code.whole_register(code.operands()[0], 8);
    const cs_x86_op& mask = code.operands()[1];
    if (reg == no_register || mask.type != X86_OP_IMM || mask.imm >= 0) return std::nullopt;
    const std::int64_t slack = -mask.imm - 1;
    const Value before = facts_of(*step).registers[reg];
    if (!before.is(Value::Kind::Stack)) return std::nullopt;
    const auto from = before.place.base == 0 ? Bounds{0, 0} : bounds_of(before.place.base);
    if (!from) return std::nullopt;
    return Bounds{from->least + before.place.offset - slack, from->most + before.place.offset};
  }

  /// All that is claimed at a step must hold.
  void require(const Step& step, const Facts& held) {
    ++all_.counts_.edges;
    const Facts& claimed = facts_of(step);
    const auto reason = [&] { return "does not follow at " + hex(step.pc); };
    for (unsigned reg = 0; reg < 16; ++reg) {
      const Value& claim = claimed.registers[reg];
      if (claim.is(Value::Kind::Unknown) || claim == held.registers[reg]) continue;
      if (reg == rsp && claim.is(Value::Kind::Probing) && may_begin_probing(step, held)) continue;
      fault(words_of(reg, claim), reason() + ", where there is " + text_of(held.registers[reg]));
    }
    for (const auto& slot : claimed.slots)
      if (std::ranges::find(held.slots, slot) == held.slots.end()) fault(words_of(slot), reason());
    // SP that is not known is below all slots.
    const Value& pointer = held.registers[rsp];
    if (claimed.registers[rsp].is(Value::Kind::Stack) || !pointer.is(Value::Kind::Stack)) return;
    for (const auto& slot : claimed.slots)
      if (!is_at_or_above(slot.first, pointer.place, find_bounds_)) fault(words_of(slot), "may be below SP" + reason());
  }

  /// -fstack-clash-protection: a loop of "sub $N,%rsp; orq $0,(%rsp); cmp %r11,%rsp; jne". It begins where SP is
  /// lowered.
  bool may_begin_probing(const Step& step, const Facts& held) {
    Capstone& code = all_.other_;
    return held.registers[rsp].is(Value::Kind::Stack) && code.read(code_at(step.pc), step.pc) &&
           code.lowers_stack_pointer_by() > 0;
  }

  void judge(const Step& step) {
    pc_ = step.pc;
    const Facts& before = facts_of(step);
    const Value& pointer = before.registers[rsp];
    const Value& frame = before.registers[rbp];
    const bool is_known = pointer.is(Value::Kind::Stack) || pointer.is(Value::Kind::Probing) ||
                          (frame.is(Value::Kind::Stack) && frame.place.base == 0);
    if (!is_known) fault("", "nothing gives the CFA");
    Capstone& code = all_.capstone_;
    if (!code.read(code_at(step.pc), step.pc)) {
      is_padding_after_call_ = last_was_call_ = false;
      return believe(step);
    }
    if (!all_.mark(step.pc, code.size())) return fault("", "it overlaps another instruction");
    is_padding_after_call_ = last_was_call_ && code.id() == X86_INS_NOP;
    flow(code, step);
    end_of_last_ = code.next();
    last_lowered_ = code.lowers_stack_pointer_by();
    last_compared_ = code.compares_stack_pointer_with();
    last_was_call_ = code.id() == X86_INS_CALL || is_padding_after_call_;
  }

  void flow(const Capstone& code, const Step& step) {
    note_taken(code);
    Facts facts = facts_of(step);
    if (code.id() == X86_INS_RET) return leave_by_return(code, facts);
    if (code.is_trap()) return;
    if (code.id() == X86_INS_CALL) return call(code, step, facts);
    if (code.id() == X86_INS_JMP) return jump(code, step, facts);
    if (code.is_conditional_jump()) return branch(code, facts);
    if (is_of_no_compiler(code)) return fault("", "no compiler makes such an instruction");
    Transfer transfer(code, find_bounds_, lowered_before(step), facts);
    transfer.apply();
    if (transfer.slots_believed_missed() != 0) ++all_.counts_.stores_believed_to_miss;
    if (lowered_before(step) != 0) after_comparison_.insert(step.pc);
    fall_to(code.next(), facts);
  }

  std::int64_t lowered_before(const Step& step) const {
    const bool matters = facts_of(step).registers[rsp].is(Value::Kind::Probing);
    return matters && end_of_last_ == step.pc ? last_lowered_ : 0;
  }

  static bool is_of_no_compiler(const Capstone& code) {
    const auto name = code.mnemonic();
    return code.is_of(CS_GRP_IRET) || name == "enter" || name == "xbegin" || name == "lcall" || name == "ljmp" ||
           name == "retf" || name == "retfq" || name == "sysret" || name == "sysexit";
  }

  /// Capstone 4 lacks some instructions of vectors, and of shadow stacks. They are believed to write nothing of what is
  /// claimed.
  void believe(const Step& step) {
    ++all_.counts_.unknown_instructions;
    if (const unsigned size = size_of_vector_instruction(code_at(step.pc)); size != 0) {
      if (!all_.mark(step.pc, size)) return fault("", "it overlaps another instruction");
      return fall_to(step.pc + size, facts_of(step));
    }
    const auto next = std::ranges::upper_bound(function_.steps, step.pc, {}, &Step::pc);
    if (next == function_.steps.end() || next->pc > step.pc + 15) return fault("", "it cannot be decoded");
    require(*next, facts_of(step));
  }

  void note_taken(const Capstone& code) {
    for (const cs_x86_op& operand : code.operands()) {
      if (operand.type == X86_OP_IMM) taken_.insert(static_cast<std::uint64_t>(operand.imm));
      if (operand.type != X86_OP_MEM || operand.mem.segment != X86_REG_INVALID) continue;
      const std::uint64_t from = operand.mem.base == X86_REG_RIP ? code.next() : 0;
      taken_.insert(from + static_cast<std::uint64_t>(operand.mem.disp));
    }
  }

  void leave_by_return(const Capstone& code, const Facts& facts) {
    if (!code.operands().empty()) return fault("", "it pops arguments");
    leave(facts, "it returns");
    known_.returns = true;
  }

  void leave(const Facts& facts, const std::string& how) {
    if (!(facts.registers[rsp] == at(return_slot))) {
      fault(words_of(rsp, facts.registers[rsp]), how + " with another SP than at the entry");
    } else if (!is_as_at_entry(facts)) {
      fault("", how + " without the return address in place");
    }
    if (facts.registers[rbp] != entry_of(rbp)) known_.loses_frame_pointer = true;
  }

  void fall_to(std::uint64_t pc, const Facts& facts) {
    if (const Step* const next = function_.find(pc)) return require(*next, facts);
    if (is_padding_after_call_) return;
    if (!is_as_at_entry(facts)) return fault("", "it goes on to " + hex(pc) + ", which is not listed");
    leap(pc, facts);
  }

  /// To the start of another function, which may be within the range of this one.
  void leap(std::uint64_t pc, const Facts& facts) {
    leave(facts, "it jumps to another function");
    known_.tails.push_back(pc);
    const bool is_inside = function_.start <= pc && pc < function_.end;
    (is_inside ? all_.short_leaps_ : all_.leaps_).push_back({function_.start, pc_, pc});
  }

  void go_to(std::uint64_t pc, const Facts& facts) {
    jumped_to_.insert(pc);
    if (const Step* const next = function_.find(pc)) return require(*next, facts);
    if (!all_.image_.is_code(pc, 1)) return fault("", "it jumps to " + hex(pc) + ", where there is no code");
    leap(pc, facts);
  }

  void branch(const Capstone& code, Facts facts) {
    const auto last_compared = end_of_last_ == pc_ ? last_compared_ : no_register;
    if (!code.is_of(CS_GRP_JUMP)) facts.registers[1] = {};  // loop counts by rcx
    go_to(static_cast<std::uint64_t>(code.operands()[0].imm), facts);
    const Value limit = last_compared == no_register ? Value{} : facts.registers[last_compared];
    if (code.id() == X86_INS_JNE && limit.is(Value::Kind::Stack) && !facts.registers[rsp].is(Value::Kind::Stack)) {
      after_comparison_.insert(pc_);
      facts.registers[rsp] = limit;
    }
    fall_to(code.next(), facts);
  }

  void jump(const Capstone& code, const Step& step, const Facts& facts) {
    const cs_x86_op& operand = code.operands()[0];
    if (operand.type == X86_OP_IMM) return go_to(static_cast<std::uint64_t>(operand.imm), facts);
    if (step.targets.empty()) return leave(facts, "it jumps to an unknown place");
    if (step.table) check_table(*step.table, step.targets);
    for (const std::uint64_t target : step.targets) go_to(target, facts);
  }

  void check_table(const Table& table, const std::vector<std::uint64_t>& targets) {
    ++(table.count != 0 ? all_.counts_.bounded_tables : all_.counts_.unbounded_tables);
    tables_.emplace_back(pc_, table.address);
    auto bytes = elf::loaded_bytes_from(all_.image_, table.address);
    std::set<std::uint64_t> missing(targets.begin(), targets.end());
    for (std::uint64_t i = 0; table.count != 0 ? i < table.count : !missing.empty(); ++i) {
      if (bytes.size() < table.entry_size) return fault("", "its table goes on after the file's bytes");
      const std::uint64_t target =
          table.entry_size == 8 ? load<std::uint64_t>(bytes, Endian::Little)
                                : table.address + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(
                                                      load<std::uint32_t>(bytes, Endian::Little))});
      bytes = bytes.subspan(table.entry_size);
      const bool is_listed = std::ranges::find(targets, target) != targets.end();
      if (!is_listed && target != function_.end)
        return fault("", "its table leads to " + hex(target) + ", which is not listed");
      missing.erase(target);
    }
    if (!missing.empty()) fault("", "its table does not lead to " + hex(*missing.begin()));
  }

  void call(const Capstone& code, const Step& step, Facts& facts) {
    const cs_x86_op& operand = code.operands()[0];
    const std::uint64_t target = operand.type == X86_OP_IMM ? static_cast<std::uint64_t>(operand.imm) : 0;
    if (step.is_endless_call) {
      ++all_.counts_.endless_calls;
      if (target != 0) all_.endless_calls_.push_back({function_.start, pc_, target});
      return;
    }
    if (target == code.next()) {  // it asks for its own address
      Transfer(code, find_bounds_, 0, facts).push_next();
      return fall_to(code.next(), facts);
    }
    Transfer(code, find_bounds_, 0, facts).call();
    const Step* const next = function_.find(code.next());
    if (next == nullptr) return fault("", "it goes on to " + hex(code.next()) + ", which is not listed");
    const bool keeps = !facts_of(*next).registers[rbp].is(Value::Kind::Unknown);
    if (keeps && target != 0) all_.kept_frame_pointers_.push_back({function_.start, pc_, target});
    require(*next, facts);
  }

  Checker& all_;
  const Function& function_;
  Known known_;
  std::uint64_t pc_ = 0;
  std::map<std::uint32_t, std::optional<Bounds>> bounds_;
  const FindBounds find_bounds_ = [this](std::uint32_t base) { return bounds_of(base); };
  std::set<std::uint64_t> jumped_to_, after_comparison_, taken_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tables_;
  std::uint64_t end_of_last_ = 0;
  std::int64_t last_lowered_ = 0;
  std::uint8_t last_compared_ = no_register;
  bool last_was_call_ = false, is_padding_after_call_ = false;
};

Checker::Checker(const elf::Image& image) : image_(image) {
  for (const Range& range : image.code()) marks_.emplace_back(range.size());
}

std::span<std::uint8_t> Checker::marks_from(std::uint64_t pc) {
  const auto& code = image_.code();
  const auto after = std::ranges::upper_bound(code, pc, {}, &Range::begin);
  if (after == code.begin() || !(after - 1)->contains(pc)) return {};
  return std::span(marks_[static_cast<std::size_t>(after - 1 - code.begin())]).subspan(pc - (after - 1)->begin);
}

bool Checker::mark(std::uint64_t pc, unsigned size) {
  const auto marks = marks_from(pc);
  if (marks.size() < size) return false;
  if ((marks[0] & 2U) != 0) return false;
  for (unsigned i = 1; i < size; ++i)
    if ((marks[i] & 1U) != 0) return false;
  marks[0] |= 1U;
  for (unsigned i = 1; i < size; ++i) marks[i] |= 2U;
  return true;
}

void Checker::check(const Function& function) {
  Judge(*this, function).judge();
}

void Checker::spread_lost_frame_pointers() {
  std::map<std::uint64_t, std::vector<std::uint64_t>> jumps_to;
  std::vector<std::uint64_t> lost;
  for (const auto& [start, known] : known_) {
    if (known.loses_frame_pointer) lost.push_back(start);
    for (const std::uint64_t tail : known.tails) jumps_to[tail].push_back(start);
  }
  while (!lost.empty()) {
    const std::uint64_t target = lost.back();
    lost.pop_back();
    for (const std::uint64_t start : jumps_to[target]) {
      if (known_[start].loses_frame_pointer) continue;
      known_[start].loses_frame_pointer = true;
      lost.push_back(start);
    }
  }
}

void Checker::finish() {
  spread_lost_frame_pointers();
  for (const auto& [function, pc, target] : kept_frame_pointers_) {
    const auto callee = known_.find(target);
    if (callee != known_.end() && callee->second.loses_frame_pointer)
      faults_.push_back({function, pc, "5", "the callee at " + hex(target) + " does not keep FP"});
  }
  for (const auto& [function, pc, target] : endless_calls_) {
    const auto callee = known_.find(target);
    if (callee != known_.end() && callee->second.returns) ++counts_.doubtful_endless;
  }
  for (const auto& [function, pc, target] : short_leaps_)
    if (!known_.contains(target))
      faults_.push_back({function, pc, "", "it leads to " + hex(target) + ", which is not listed"});
  for (const auto& [function, pc, target] : leaps_) {
    if (!known_.contains(target) && !marks_from(target).empty() && marks_from(target)[0] != 0)
      faults_.push_back({function, pc, "", "it jumps to " + hex(target) + ", in the middle of another function"});
  }
}

}  // namespace sframe_gen::checker
