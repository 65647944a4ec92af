#include "code/step/proved_rows.hpp"

#include <algorithm>

#include "code/function.hpp"
#include "code/state.hpp"

namespace sframe_gen::stepping {

namespace {

std::optional<cfi::CfaRule> cfa_of(const code::State& state) {
  for (const auto& [reg, number] : {std::pair{code::rsp, cfi::amd64::rsp}, std::pair{code::rbp, cfi::amd64::rbp}})
    if (state[reg].is(code::Value::Kind::Cfa)) return cfi::Formula{number, -state[reg].number};
  return std::nullopt;
}

std::optional<cfi::RegisterRule> frame_pointer_of(const code::State& state) {
  const code::Value entry = code::entry_of(code::rbp);
  if (state[code::rbp] == entry) return cfi::SameValue{};
  for (const code::Slot& slot : state.slots())
    if (slot.base == 0 && slot.value == entry) return cfi::Formula{std::nullopt, slot.offset, true};
  return std::nullopt;
}

std::optional<cfi::Rules> rules_of(const code::State& state) {
  constexpr std::int64_t return_address_at = -8;
  const auto cfa = cfa_of(state);
  const auto frame_pointer = frame_pointer_of(state);
  if (!cfa || !frame_pointer || state.load(code::cfa_plus(return_address_at), 64) != code::return_address)
    return std::nullopt;
  cfi::Rules rules;
  rules.cfa = *cfa;
  rules.frame_pointer = *frame_pointer;
  rules.return_address = cfi::Formula{std::nullopt, return_address_at, true};
  return rules;
}

}  // namespace

ProvedRows::ProvedRows(const elf::Image& image, std::span<const cfi::Function> functions, const cfi::RuleTable& rules)
    : decoder_(image.name()), program_(image, decoder_, functions, rules, {.proves_undescribed = true}) {
  program_.prove({});
  for (const code::FunctionProof& proof : program_.functions())
    if (proof.refusal == code::Refusal::None) proofs_.push_back(proof);
  std::ranges::sort(proofs_, {}, &code::FunctionProof::start);
  is_read_.resize(proofs_.size());
}

std::optional<cfi::Rules> ProvedRows::at(std::uint64_t address) {
  read_function_of(address);
  const auto found = rows_.find(address);
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

void ProvedRows::read_function_of(std::uint64_t address) {
  const auto after = std::ranges::upper_bound(proofs_, address, {}, &code::FunctionProof::start);
  if (after == proofs_.begin()) return;
  const auto index = static_cast<std::size_t>(after - proofs_.begin()) - 1;
  if (is_read_[index]) return;
  is_read_[index] = true;
  code::visit_steps(program_, proofs_[index], [&](const code::Step& step, const code::State& state) {
    if (const auto rules = rules_of(state)) rows_.try_emplace(step.pc, *rules);
  });
}

}  // namespace sframe_gen::stepping
