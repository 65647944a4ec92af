#pragma once

#include <capstone/capstone.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sframe_gen::checker {

inline constexpr std::uint8_t rsp = 4, rbp = 5, no_register = 255;

/// How many bytes an instruction has that is encoded by VEX or EVEX, known to Capstone or not (Intel SDM, volume 2,
/// sections 2.3 and 2.7); 0: it is none.
unsigned size_of_vector_instruction(std::span<const std::byte> code);

/// Decodes one instruction of x86-64 at a time.
class Capstone {
 public:
  Capstone();
  ~Capstone();
  Capstone(const Capstone&) = delete;
  Capstone& operator=(const Capstone&) = delete;

  /// False: it knows none.
  bool read(std::span<const std::byte> code, std::uint64_t address);

  /// All else is about the instruction that was read last.
  std::uint64_t next() const { return instruction_->address + instruction_->size; }
  unsigned size() const { return instruction_->size; }
  unsigned id() const { return instruction_->id; }
  /// In Intel's notation.
  std::string text() const { return std::string(instruction_->mnemonic) + " " + instruction_->op_str; }
  std::string_view mnemonic() const { return instruction_->mnemonic; }
  std::span<const cs_x86_op> operands() const { return {x86().operands, x86().op_count}; }
  bool is_of(unsigned group) const { return cs_insn_group(handle_, instruction_, group); }
  bool is_conditional_jump() const;
  /// ud2, int3, hlt: control does not go on.
  bool is_trap() const;

  /// The number of the general-purpose register that this is all or a part of; no_register: it is none.
  std::uint8_t number_of(unsigned reg) const { return reg < numbers_.size() ? numbers_[reg] : no_register; }
  /// The same of an operand; no_register: it is no register of `size` bytes.
  std::uint8_t whole_register(const cs_x86_op& operand, unsigned size) const;
  /// A bit for each general-purpose register that it writes, all or a part of it.
  unsigned written() const;
  /// "sub rsp, N" with N above 0: N; else 0.
  std::int64_t lowers_stack_pointer_by() const;
  /// The register that it compares with SP.
  std::uint8_t compares_stack_pointer_with() const;

 private:
  const cs_x86& x86() const { return instruction_->detail->x86; }

  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
  std::array<std::uint8_t, X86_REG_ENDING> numbers_{};
};

}  // namespace sframe_gen::checker
