#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

/// Effects of single instructions on the few registers that unwinding turns on. The judge of rows that come from
/// instructions knows no stub and no linker, only the machines, and shares nothing with what recognizes stubs.
namespace sframe_gen::verify {

/// Flow of control after an instruction.
enum class Flow : std::uint8_t {
  Next,
  Jump,    ///< to `target`
  Branch,  ///< to `target`, or on
  Call,    ///< to `target`, and comes back
  Leave,   ///< elsewhere, and does not come back: a jump through memory or a register, a return
  Trap,    ///< nowhere: int3, brk
};

struct MachineInstruction {
  std::uint8_t size = 0;  ///< bytes
  Flow flow = Flow::Next;
  std::uint64_t target = 0;            ///< virtual address; 0: a call of what is not known
  std::int64_t stack_change = 0;       ///< bytes by which the stack pointer rises
  bool begins_header = false;          ///< x86-64: pushes what the header of a PLT pushes first, and functions do not
  bool overwrites_top = false;         ///< stores to where the stack pointer points
  bool saves_frame_record = false;     ///< aarch64: stores x29 and x30, these last, where the stack pointer points then
  bool saves_return_address = false;   ///< aarch64: stores any register and x30 there
  bool saves_registers = false;        ///< s390x: stores r6 to r15 where the caller has left room for them
  bool restores_registers = false;     ///< s390x: loads r6 to r15 from there
  bool needs_saved_address = false;    ///< calls and so overwrites the register with the return address
  bool moves_frame_pointer = false;    ///< aarch64: x29 becomes the stack pointer
  bool restores_frame_record = false;  ///< aarch64: loads x29 and x30, before the stack pointer rises
  std::optional<bool> signs = {};      ///< aarch64: signs x30 with the A key, or authenticates it
  bool needs_no_caller = false;        ///< what it does to the stack or frame pointer loses the caller, if there is one
  bool aligns_stack = false;           ///< loses the caller by rounding the stack pointer down
  bool is_padding = false;             ///< does nothing at all
};

/// Decodes the instruction that `code` begins with, at `address`. No value: the instruction is not known, or changes a
/// register that is not followed.
std::optional<MachineInstruction> decode_instruction(std::span<const std::byte> code, std::uint64_t address,
                                                     sframe::Abi abi);

/// Returns bytes at `code[at]`, which are no known instruction, up to where one may be. Zeros and what is too short for
/// a stub are padding if no code goes on to them (`is_entry`). `code` begins where a section of stubs does.
MachineInstruction bytes_between_instructions(std::span<const std::byte> code, std::uint64_t at, bool is_entry,
                                              sframe::Abi abi);

/// Checks whether [begin, end) of the file's code holds nothing that a program would run: instructions that do nothing
/// or trap, and zeros. A compact section's rows may go on over such PCs between functions. Decodes instructions, where
/// what wrote the section compares with a list: the judge shares no code with the judged. The last instruction may go
/// on after `end`, as rows end before the last byte of padding.
bool is_padding(const elf::Image& image, sframe::Abi abi, std::uint64_t begin, std::uint64_t end);

/// Returns where padding ends that begins at `begin` and goes on to `end` at least, and to `limit` at most. No value:
/// not all of it is padding.
std::optional<std::uint64_t> padding_end(const elf::Image& image, sframe::Abi abi, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t limit);

// Decoders of each machine.

/// Returns the size of the instruction that `code` begins with, if it does nothing or traps; else 0. The size may be
/// more than `code` has.
std::size_t idle_size_on_amd64(std::span<const std::byte> code);

std::optional<MachineInstruction> decode_amd64(std::span<const std::byte> code, std::uint64_t address);
std::optional<MachineInstruction> decode_aarch64(std::span<const std::byte> code, std::uint64_t address);
std::optional<MachineInstruction> decode_s390x(std::span<const std::byte> code, std::uint64_t address);

}  // namespace sframe_gen::verify
