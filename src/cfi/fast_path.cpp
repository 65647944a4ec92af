#include "cfi/fast_path.hpp"

#include "support/endian.hpp"

namespace sframe_gen::cfi {

FastPath::FastPath(const TrackedRegisters& tracked)
    : signs_return_addresses_(tracked.signing_state.has_value()), known_(known_count) {
  for (std::uint32_t number = 0; number < 64; ++number)
    if (follows(tracked, DwarfRegister{number})) followed_ |= std::uint64_t{1} << number;
}

/// Executes one FDE's instructions. Each function gives false, and does nothing, where the general interpreter has to
/// go on. What changes with each instruction is a member of its own, so that it stays in registers.
class FastPath::Walk {
 public:
  Walk(FastPath& path, std::span<const std::byte> instructions, Endian endian, const Cie& cie, std::uint32_t cie_index,
       const Change& work_out, RunState& progress)
      : path_(path),
        instructions_(instructions),
        endian_(endian),
        code_alignment_(cie.code_alignment),
        cie_key_(std::uint64_t{cie_index} << 24U),
        work_out_(work_out),
        progress_(progress),
        location_(progress.location),
        rule_(progress.state.rule) {}

  [[gnu::always_inline]] std::size_t run() {
    // An instruction after the last byte that is not zero is a nop.
    std::size_t nops = instructions_.size();
    while (nops != 0 && instructions_[nops - 1] == std::byte{0}) --nops;
    while (at_ < nops && execute_one()) {
    }
    if (at_ >= nops) at_ = instructions_.size();
    progress_.location = location_;
    progress_.state.rule = rule_;
    return at_;
  }

 private:
  [[gnu::always_inline]] bool execute_one() {
    const std::uint32_t bytes = next_bytes();
    const std::uint32_t low_bits = bytes & 0x3fU, opcode = (bytes & 0xc0U) != 0 ? bytes & 0xc0U : bytes & 0xffU;
    // The most frequent one.
    if (static_cast<CfaOpcode>(opcode) == CfaOpcode::AdvanceLoc) return advance(low_bits, 1);
    switch (static_cast<CfaOpcode>(opcode)) {
      case CfaOpcode::Offset:
        return is_followed(low_bits) ? change(bytes, size_with_number(bytes)) : skip(size_with_number(bytes));
      case CfaOpcode::Restore:
        return is_followed(low_bits) ? change(bytes, 1) : skip(1);
      case CfaOpcode::DefCfaOffset:
      case CfaOpcode::DefCfaRegister:
        return change(bytes, size_with_number(bytes));
      case CfaOpcode::DefCfa:
      case CfaOpcode::Register:
        return change(bytes, (bytes & 0x808000U) == 0 ? 3 : 0);
      case CfaOpcode::AdvanceLoc1:
        return left() >= 2 && advance(bytes >> 8U & 0xffU, 2);
      case CfaOpcode::AdvanceLoc2: {
        const auto delta = static_cast<std::uint16_t>(bytes >> 8U);
        return left() >= 3 && advance(endian_ == Endian::Little ? delta : swapped(delta), 3);
      }
      case CfaOpcode::RememberState:
        if (progress_.remembered.size() == most_remembered) return false;
        progress_.remembered.push_back({rule_, false});
        return skip(1);
      case CfaOpcode::RestoreState:
        if (progress_.remembered.empty() || progress_.remembered.back().cfa_is_expression) return false;
        rule_ = progress_.remembered.back().rule;
        progress_.remembered.pop_back();
        return skip(1);
      case CfaOpcode::Nop:
        return skip(1);
      case CfaOpcode::GnuArgsSize:
        return skip(size_with_number(bytes));
      case CfaOpcode::AArch64NegateRaState:
        return path_.signs_return_addresses_ && change(bytes, 1);
      default:
        return false;  // the enum is open: any byte may come in
    }
  }

  std::size_t left() const { return instructions_.size() - at_; }
  bool is_followed(std::uint32_t number) const { return (path_.followed_ >> number & 1U) != 0; }

  /// Up to three bytes, the first lowest. What is missing at the end looks like a number that goes on.
  std::uint32_t next_bytes() const {
    if (left() >= sizeof(std::uint32_t))
      return load<std::uint32_t>(instructions_.subspan(at_), Endian::Little) & 0xffffffU;
    std::uint32_t bytes = 0x808080;
    for (std::size_t i = 0; i < left() && i < 3; ++i) {
      bytes &= ~(0xffU << 8 * i);
      bytes |= std::to_integer<std::uint32_t>(instructions_[at_ + i]) << 8 * i;
    }
    return bytes;
  }

  /// Returns the size of an instruction with a LEB128 number of one byte or two. 0: the number is longer, or cut off.
  static std::size_t size_with_number(std::uint32_t bytes) {
    if ((bytes & 0x8000U) == 0) return 2;
    return (bytes & 0x800000U) == 0 ? 3 : 0;
  }

  bool skip(std::size_t size) {
    at_ += size;
    return size != 0;
  }

  [[gnu::always_inline]] bool advance(std::uint64_t delta, std::size_t size) {
    const std::uint64_t there = location_ + delta * code_alignment_;
    if (there < location_) return false;
    if (there != location_) progress_.add_row(location_, rule_);
    location_ = there;
    return skip(size);
  }

  [[gnu::always_inline]] bool change(std::uint32_t bytes, std::size_t size) {
    if (size == 0) return false;
    const std::uint64_t key =
        std::uint64_t{rule_} << (24 + cie_bits) | cie_key_ | (bytes & ((std::uint32_t{1} << 8 * size) - 1));
    Known& known = path_.known_[key * 0x9e3779b97f4a7c15U >> (64 - known_bits)];
    if (known.key != key) known = {key, work_out_(instructions_.subspan(at_, size), rule_)};
    rule_ = known.after;
    return skip(size);
  }

  FastPath& path_;
  std::span<const std::byte> instructions_;
  Endian endian_;
  std::uint64_t code_alignment_;
  std::uint64_t cie_key_;
  const Change& work_out_;
  RunState& progress_;
  std::size_t at_ = 0;
  std::uint64_t location_;
  RuleId rule_;
};

std::size_t FastPath::run(std::span<const std::byte> instructions, Endian endian, const Cie& cie,
                          std::uint32_t cie_index, const Change& change, RunState& progress) {
  static_assert(rules_bits + cie_bits + 24 == 64 && RuleTable::most_rules <= std::size_t{1} << rules_bits);
  if (cie.code_alignment > UINT32_MAX || cie_index >> cie_bits != 0 || progress.state.cfa_is_expression) return 0;
  return Walk(*this, instructions, endian, cie, cie_index, change, progress).run();
}

}  // namespace sframe_gen::cfi
