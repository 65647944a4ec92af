#include "rows/proof/checker/steps.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "rows/proof/conditions.hpp"
#include "rows/proof/function.hpp"
#include "rows/proof/prove_program.hpp"

namespace sframe_gen::checker {

namespace {

using rows::proof::RegisterNumber;

Value listed(const rows::proof::Value& value, bool has_constants) {
  switch (value.kind) {
    case rows::proof::Value::Kind::Cfa:
      return at({0, value.number});
    case rows::proof::Value::Kind::Aligned:
      return at({value.count, value.number});
    case rows::proof::Value::Kind::Entry:  // of others, nobody asks
      return rows::proof::conditions::is_kept_over_calls(value.reg) ? entry_of(value.reg) : Value{};
    case rows::proof::Value::Kind::ReturnAddress:
      return return_address;
    case rows::proof::Value::Kind::Probing:
      return probing;
    case rows::proof::Value::Kind::Constant:
      return has_constants ? constant(value.number) : Value{};
    default:
      return {};
  }
}

Facts listed(const rows::proof::State& state, bool has_constants) {
  Facts facts;
  for (RegisterNumber reg = 0; reg < rows::proof::register_count; ++reg)
    facts.registers[reg] = listed(state[reg], has_constants);
  for (const rows::proof::Slot& slot : state.slots()) {
    const Value value = listed(slot.value, false);
    if (!value.is(Value::Kind::Unknown)) facts.slots.emplace_back(Place{slot.base, slot.offset}, value);
  }
  return facts;
}

bool is_same(const Facts& a, const Facts& b) {
  return a.registers == b.registers && a.slots == b.slots;
}

/// Constants count only where they move a place on the stack.
bool uses_constants(const rows::proof::Instruction& instruction, const rows::proof::State& state) {
  const auto& [first, second] = instruction.operands;
  const auto is_place = [&](RegisterNumber reg) {
    return reg < rows::proof::register_count && rows::proof::is_on_stack(state[reg]);
  };
  if (instruction.operation == rows::proof::Operation::Add || instruction.operation == rows::proof::Operation::Subtract)
    return second.kind == rows::proof::Operand::Kind::Register && (is_place(first.reg) || is_place(second.reg));
  const auto is_sum = [&](const rows::proof::Operand& memory) {
    return memory.kind == rows::proof::Operand::Kind::Memory && is_place(memory.base) &&
           memory.index < rows::proof::register_count && state[memory.index].is(rows::proof::Value::Kind::Constant);
  };
  return is_sum(first) || is_sum(second);
}

class Lister {
 public:
  explicit Lister(rows::proof::Program& program) : program_(program) {}

  bool list(const rows::proof::FunctionProof& proof) {
    bool has_constants = false;
    const auto look = [&](const rows::proof::Step& step, const rows::proof::State& state) {
      has_constants = has_constants || uses_constants(step.instruction, state);
    };
    const rows::proof::FunctionProof last = visit_steps(program_, proof, look);
    if (last.refusal != rows::proof::Refusal::None) return false;
    read_by_contents_ = last.unbounded_tables;
    steps_.clear();
    visit_steps(program_, proof, [&](const rows::proof::Step& step, const rows::proof::State& state) {
      steps_[step.pc] = {step_of(step), listed(state, has_constants),
                         step.instruction.operation == rows::proof::Operation::Call, step.instruction.size};
    });
    function_ = {proof.start, proof.own.end, {}, {}};
    for (auto& [pc, step] : steps_) {
      if (function_.facts.empty() || !is_same(function_.facts.back(), step.facts))
        function_.facts.push_back(std::move(step.facts));
      step.listed.facts = function_.facts.size() - 1;
      // Where a function ends with a call, that does not return.
      const std::uint64_t next = pc + step.size;
      if (step.is_call && !proof.own.contains(next) && !steps_.contains(next)) step.listed.is_endless_call = true;
      function_.steps.push_back(std::move(step.listed));
    }
    return true;
  }

  const Function& function() const { return function_; }

 private:
  Step step_of(const rows::proof::Step& step) const {
    Step listed{step.pc, false, std::nullopt, step.targets, 0};
    const bool is_call = step.instruction.operation == rows::proof::Operation::Call;
    listed.is_endless_call = is_call && !step.goes_on;
    const bool is_table =
        step.table.is(rows::proof::Value::Kind::TableTarget) || step.table.is(rows::proof::Value::Kind::TableAddress);
    if (is_table && !step.targets.empty()) {
      const auto address = static_cast<std::uint64_t>(step.table.number);
      // A mask may let more pass than the table has entries for, which was read by its contents then.
      const bool is_read_by_contents = std::ranges::find(read_by_contents_, address) != read_by_contents_.end();
      listed.table = {address, std::uint64_t{step.table.is(rows::proof::Value::Kind::TableTarget) ? 4U : 8U},
                      is_read_by_contents ? 0 : step.table.count};
    }
    if (step.table.is(rows::proof::Value::Kind::Constant))
      listed.targets.push_back(static_cast<std::uint64_t>(step.table.number));
    return listed;
  }

  struct Seen {
    Step listed;
    Facts facts;
    bool is_call = false;
    std::uint64_t size = 0;
  };
  rows::proof::Program& program_;
  Function function_;
  std::vector<std::uint64_t> read_by_contents_;  ///< tables
  std::map<std::uint64_t, Seen> steps_;
};

}  // namespace

std::optional<Function> claims_of(rows::proof::Program& program, const rows::proof::FunctionProof& proof) {
  Lister lister(program);
  return lister.list(proof) ? std::optional(lister.function()) : std::nullopt;
}

void list_proved(rows::proof::Program& program, const std::function<void(const Function&)>& take) {
  Lister lister(program);
  const std::vector<rows::proof::FunctionProof>& functions = program.functions();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const rows::proof::FunctionProof proof = functions[i];
    if (proof.refusal == rows::proof::Refusal::None && lister.list(proof)) take(lister.function());
  }
}

void list_proved(const elf::Image& image, const std::function<void(const Function&)>& take,
                 rows::proof::ProofOptions options) {
  const rows::proof::Decoder decoder(image.name());
  cfi::RuleTable rules;
  const cfi::FrameSource source(image, image);
  std::vector<cfi::Function> functions;
  cfi::FrameReader reader(source, rules);
  for (const auto& part : source.parts(1))
    reader.for_each_function(part, [&](const cfi::Function& function) { functions.push_back(function); });
  rows::proof::Program program(image, decoder, functions, rules, options);
  prove_program(program, {});
  list_proved(program, take);
}

}  // namespace sframe_gen::checker
