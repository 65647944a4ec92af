#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

/// What single instructions do to the few registers that unwinding turns on. This judges rows that come from
/// instructions, so it knows no stub and no linker, only the machines, and shares nothing with what recognizes stubs.
namespace sframe_gen::verify {

/// Where control goes after an instruction.
enum class Flow : std::uint8_t {
  Next,
  Jump,    ///< to `target`
  Branch,  ///< to `target`, or on
  Call,    ///< to `target`, and comes back
  Leave,   ///< elsewhere, and does not come back: a jump through memory or a register, a return
  Trap,    ///< nowhere: int3, brk
};

struct Instruction {
  std::uint8_t size = 0;  ///< bytes
  Flow flow = Flow::Next;
  std::uint64_t target = 0;            ///< virtual address; 0: a call of what is not known
  std::int64_t stack_change = 0;       ///< bytes by which the stack pointer rises
  bool begins_header = false;          ///< x86-64: pushes what the header of a PLT pushes first, and functions do not
  bool overwrites_top = false;         ///< stores to where the stack pointer points
  bool saves_frame_record = false;     ///< aarch64: stores x29 and x30, these last, where the stack pointer points then
  bool saves_return_address = false;   ///< the same of any register and x30
  bool saves_registers = false;        ///< s390x: stores r6 to r15 where the caller has left room for them
  bool restores_registers = false;     ///< loads them from there
  bool needs_saved_address = false;    ///< calls and so overwrites the register with the return address
  bool moves_frame_pointer = false;    ///< aarch64: x29 becomes the stack pointer
  bool restores_frame_record = false;  ///< loads them from there, before the stack pointer rises
  std::optional<bool> signs = {};      ///< aarch64: signs x30 with the A key, or authenticates it
  bool needs_no_caller = false;        ///< what it does to the stack or frame pointer loses the caller, if there is one
  bool aligns_stack = false;           ///< the same, by rounding the stack pointer down
  bool is_padding = false;             ///< does nothing at all
};

/// The instruction at the front of `code`, which stands at `address`. No value: one that this does not know, or that
/// changes a register which nothing here follows.
std::optional<Instruction> decode_instruction(std::span<const std::byte> code, std::uint64_t address, sframe::Abi abi);

/// The bytes at `code[at]`, which are no known instruction, up to where one may be. Zeros and what is too short for a
/// stub are padding if nothing goes on to them (`is_entry`). `code` begins where a section of stubs does.
Instruction bytes_between_instructions(std::span<const std::byte> code, std::uint64_t at, bool is_entry,
                                       sframe::Abi abi);

/// Whether [begin, end) of the file's code holds nothing that a program would run: instructions that do nothing or
/// trap, and zeros. A compact section's rows may go on over such PCs between functions. Decodes instructions, where
/// what wrote the section compares with a list: the judge shares no code with the judged. The last instruction may go
/// on after `end`, as rows end before the last byte of padding.
bool is_padding(const elf::Image& image, sframe::Abi abi, std::uint64_t begin, std::uint64_t end);

/// Where such instructions end that begin at `begin` and go on to `end` at least, and to `limit` at most. No value:
/// something else is there.
std::optional<std::uint64_t> padding_end(const elf::Image& image, sframe::Abi abi, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t limit);

// Each machine's.

/// Bytes of the instruction that `code` begins with, if it does nothing or traps; else 0. May be more than there are.
std::size_t idle_size_on_amd64(std::span<const std::byte> code);

std::optional<Instruction> decode_amd64(std::span<const std::byte> code, std::uint64_t address);
std::optional<Instruction> decode_aarch64(std::span<const std::byte> code, std::uint64_t address);
std::optional<Instruction> decode_s390x(std::span<const std::byte> code, std::uint64_t address);

}  // namespace sframe_gen::verify
