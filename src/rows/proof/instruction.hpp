#pragma once

#include <array>
#include <cstdint>
#include <optional>

/// An x86-64 instruction, as far as the proof asks. What it says of no instruction is guessed: one that the decoder
/// does not know is none.
namespace sframe_gen::rows::proof {

/// A general-purpose register, by its number in instructions (Intel SDM, volume 2, table 2-8); 16: rip; 255: none, or
/// another kind of register.
using RegisterNumber = std::uint8_t;
inline constexpr RegisterNumber rax = 0, rcx = 1, rdx = 2, rbx = 3, rsp = 4, rbp = 5, rsi = 6, rdi = 7, r11 = 11,
                                rip = 16, no_register = 255;
inline constexpr unsigned register_count = 16;

/// What the proof follows exactly. Of all others it takes what they write.
enum class Operation : std::uint8_t {
  Other,
  Move,
  MoveZeroExtended,
  MoveSignExtended,
  ExtendAccumulator,  ///< cdqe: eax to rax, by sign
  LoadAddress,
  Add,
  Subtract,
  And,
  Xor,
  Compare,
  Push,
  PushFlags,
  Pop,
  PopFlags,
  Leave,
  Call,
  Return,
  Jump,
  ConditionalJump,
  SystemCall,
  Trap,        ///< ud2, int3, hlt: no path goes on
  Nothing,     ///< nop, endbr64
  OtherWorld,  ///< enter, iret, xbegin, far transfers: not in compilers' code
};

/// The conditions of jumps that bound a value.
enum class Condition : std::uint8_t { Other, Above, AboveOrEqual, Below, BelowOrEqual, NotEqual, Equal };

struct Operand {
  enum class Kind : std::uint8_t { None, Register, Memory, Immediate };
  Kind kind = Kind::None;
  RegisterNumber reg = no_register;  ///< of Kind::Register
  std::uint16_t bits = 0;            ///< its width
  RegisterNumber base = no_register, index = no_register;
  std::uint8_t scale = 0;
  bool other_segment = false;  ///< fs or gs: not the stack
  std::int64_t number = 0;     ///< of Kind::Immediate, its value, sign-extended; of Kind::Memory, the displacement
};

struct Instruction {
  std::uint8_t size = 0;  ///< bytes; 0: cannot be decoded
  Operation operation = Operation::Other;
  Condition condition = Condition::Other;
  bool writes_flags = false;
  bool stores = false;                ///< to memory, be it by an implicit operand
  std::uint16_t written = 0;          ///< a bit for each general-purpose register that it writes, all or a part of it
  std::array<Operand, 2> operands{};  ///< the first ones that are written in assembly
  std::uint64_t target = 0;           ///< of a direct jump or call
  bool is_direct = false;             ///< it has a target
};

/// The address that an instruction takes, if it is written there: by lea, or as a number of 32 bits that fits into none
/// but programs at fixed addresses.
constexpr std::optional<std::uint64_t> taken_by(const Instruction& instruction) {
  const Operand& first = instruction.operands[0];
  const Operand& second = instruction.operands[1];
  if (instruction.operation == Operation::LoadAddress) {
    if (second.base != no_register || second.index != no_register) return std::nullopt;
    return static_cast<std::uint64_t>(second.number);
  }
  const Operand& number = instruction.operation == Operation::Push ? first : second;
  const bool moves = instruction.operation == Operation::Move || instruction.operation == Operation::Push;
  if (!moves || number.kind != Operand::Kind::Immediate || number.number <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(number.number);
}

}  // namespace sframe_gen::rows::proof
