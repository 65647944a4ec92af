#include "cfi/fast_path.hpp"

#include <bit>

namespace sframe_gen::cfi {

UsualInstructions::UsualInstructions(const TrackedRegisters& tracked) {
  for (std::uint8_t low_bits = 0; low_bits < 0x40; ++low_bits) {
    const bool followed = follows(tracked, DwarfRegister{low_bits});
    forms_[static_cast<std::uint8_t>(CfaOpcode::AdvanceLoc) | low_bits] = Form::Advance;
    forms_[static_cast<std::uint8_t>(CfaOpcode::Offset) | low_bits] =
        followed ? Form::StepWithNumber : Form::NothingWithNumber;
    forms_[static_cast<std::uint8_t>(CfaOpcode::Restore) | low_bits] = followed ? Form::Step : Form::Nothing;
  }
  put(CfaOpcode::Nop, Form::Nothing);
  put(CfaOpcode::GnuArgsSize, Form::NothingWithNumber);
  put(CfaOpcode::AdvanceLoc1, Form::AdvanceByte);
  put(CfaOpcode::AdvanceLoc2, Form::AdvanceWord);
  put(CfaOpcode::RememberState, Form::Remember);
  put(CfaOpcode::RestoreState, Form::Restore);
  put(CfaOpcode::DefCfaOffset, Form::StepWithNumber);
  put(CfaOpcode::DefCfaRegister, Form::StepWithNumber);
  put(CfaOpcode::DefCfa, Form::StepWithNumbers);
  put(CfaOpcode::Register, Form::StepWithNumbers);
  // Elsewhere nobody knows them.
  if (tracked.signing_state) put(CfaOpcode::AArch64NegateRaState, Form::Step);
}

namespace {

using Form = UsualInstructions::Form;

/// How many of the last eight bytes come behind the last that is not zero.
std::size_t trailing_zeros(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return 0;
  const auto last = load<std::uint64_t>(bytes.last(sizeof(std::uint64_t)), Endian::Little);
  return static_cast<std::size_t>(std::countl_zero(last)) / 8;
}

/// Where an instruction ends follows from a branch, not from a number that was looked up: the processor guesses it, and
/// is at the next one before it knows. What is here is inlined, so that all of it stays in registers.
class Walker {
 public:
  Walker(const UsualWalk& walk, const UsualInstructions& usual, const KnownSteps& steps,
         std::vector<RuleState>& remembered, std::vector<NumberedRow>& rows)
      : instructions_(walk.instructions),
        endian_(walk.endian),
        code_alignment_(walk.code_alignment),
        cie_index_(walk.cie_index),
        usual_(usual),
        steps_(steps),
        remembered_(remembered),
        rows_(rows),
        location_(walk.location),
        state_(KnownSteps::state_of(walk.state, walk.cie_index)) {}

  void run() {
    // Behind the last byte that is not zero, an instruction is a nop.
    const std::size_t nops = instructions_.size() - trailing_zeros(instructions_);
    while (at_ < nops && follow_one()) {
    }
    if (at_ >= nops) at_ = instructions_.size();
  }

  std::size_t at() const { return at_; }
  std::uint64_t location() const { return location_; }
  RuleState state() const { return KnownSteps::rules_of(state_); }

 private:
  [[gnu::always_inline]] bool follow_one() {
    const std::uint32_t bytes = UsualInstructions::first_bytes_of(instructions_.subspan(at_));
    const Form form = usual_[bytes];
    // Nine of ten are one of these two.
    if (form == Form::Advance) return advance(bytes & 0x3fU, 1);
    if (form == Form::StepWithNumber && !UsualInstructions::second_goes_on(bytes))
      return step(UsualInstructions::two_of(bytes), 2);
    switch (form) {
      case Form::Nothing:
        return skip(1);
      case Form::NothingWithNumber:
        if (!UsualInstructions::second_goes_on(bytes)) return skip(2);
        return !UsualInstructions::third_goes_on(bytes) && skip(3);
      case Form::AdvanceByte:
        return instructions_.size() - at_ >= 2 && advance(bytes >> 8U & 0xffU, 2);
      case Form::AdvanceWord: {
        const auto word = static_cast<std::uint16_t>(bytes >> 8U);
        return instructions_.size() - at_ >= 3 && advance(endian_ == Endian::Little ? word : swapped(word), 3);
      }
      case Form::Step:
        return step(UsualInstructions::one_of(bytes), 1);
      case Form::StepWithNumber:
        return !UsualInstructions::third_goes_on(bytes) && step(bytes, 3);
      case Form::StepWithNumbers:
        return !UsualInstructions::second_goes_on(bytes) && !UsualInstructions::third_goes_on(bytes) && step(bytes, 3);
      case Form::Remember:
        return remember();
      case Form::Restore:
        return restore();
      default:
        return false;
    }
  }

  [[gnu::always_inline]] bool skip(std::size_t size) {
    at_ += size;
    return true;
  }

  [[gnu::always_inline]] bool advance(std::uint64_t delta, std::size_t size) {
    const std::uint64_t there = location_ + delta * code_alignment_;
    if (there < location_) return false;
    const RuleNumber rules = KnownSteps::number_of(state_);
    if (there != location_ && (rows_.empty() || rows_.back().rules != rules)) rows_.push_back({location_, rules});
    location_ = there;
    return skip(size);
  }

  [[gnu::always_inline]] bool step(std::uint32_t instruction, std::size_t size) {
    const KnownSteps::State* const after = steps_.find(KnownSteps::step_of(state_, instruction));
    if (after == nullptr) return false;
    state_ = *after;
    return skip(size);
  }

  bool remember() {
    if (remembered_.size() == most_remembered) return false;
    remembered_.push_back(state());
    return skip(1);
  }

  bool restore() {
    if (remembered_.empty() || !KnownSteps::has_state(remembered_.back(), cie_index_)) return false;
    state_ = KnownSteps::state_of(remembered_.back(), cie_index_);
    remembered_.pop_back();
    return skip(1);
  }

  std::span<const std::byte> instructions_;
  Endian endian_;
  std::uint64_t code_alignment_;
  std::uint32_t cie_index_;
  const UsualInstructions& usual_;
  const KnownSteps& steps_;
  std::vector<RuleState>& remembered_;
  std::vector<NumberedRow>& rows_;
  std::size_t at_ = 0;
  std::uint64_t location_;
  KnownSteps::State state_;
};

}  // namespace

std::size_t follow_usual(UsualWalk& walk, const UsualInstructions& usual, const KnownSteps& steps,
                         std::vector<RuleState>& remembered, std::vector<NumberedRow>& rows) {
  if (walk.code_alignment > UINT32_MAX) return 0;  // or advances may not fit in 64 bits
  if (!KnownSteps::has_state(walk.state, walk.cie_index)) return 0;
  Walker walker(walk, usual, steps, remembered, rows);
  walker.run();
  walk.location = walker.location();
  walk.state = walker.state();
  return walker.at();
}

KnownSteps::Step usual_step(std::span<const std::byte> instructions, const UsualInstructions& usual,
                            const RuleState& before, std::uint32_t cie_index) {
  if (!KnownSteps::has_state(before, cie_index)) return 0;
  const KnownSteps::State state = KnownSteps::state_of(before, cie_index);
  const std::uint32_t bytes = UsualInstructions::first_bytes_of(instructions);
  const bool second_goes_on = UsualInstructions::second_goes_on(bytes);
  const bool third_goes_on = UsualInstructions::third_goes_on(bytes);
  switch (usual[bytes]) {
    case Form::Step:
      return KnownSteps::step_of(state, UsualInstructions::one_of(bytes));
    case Form::StepWithNumber:
      if (!second_goes_on) return KnownSteps::step_of(state, UsualInstructions::two_of(bytes));
      return third_goes_on ? 0 : KnownSteps::step_of(state, bytes);
    case Form::StepWithNumbers:
      return second_goes_on || third_goes_on ? 0 : KnownSteps::step_of(state, bytes);
    default:
      return 0;
  }
}

}  // namespace sframe_gen::cfi
