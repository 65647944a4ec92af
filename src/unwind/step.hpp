#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/dwarf_registers.hpp"
#include "unwind/row_cache.hpp"

/// The other registers of code that a signal has interrupted. The kernel has saved all of them in one array, and a
/// signal frame's rules say where that is: SP, FP and PC stand in it at distances that no other array has.
namespace sframe_gen::unwind {

/// Linux' struct sigcontext of x86-64, as far as rsp, behind which rip comes.
inline constexpr std::uint8_t amd64_saved_order[]{
    amd64_register::r8,  amd64_register::r9,  amd64_register::r10, amd64_register::r11, amd64_register::r12,
    amd64_register::r13, amd64_register::r14, amd64_register::r15, amd64_register::rdi, amd64_register::rsi,
    amd64_register::rbp, amd64_register::rbx, amd64_register::rdx, amd64_register::rax, amd64_register::rcx};
inline constexpr std::int32_t amd64_fp_word = 10, amd64_sp_word = sizeof amd64_saved_order,
                              amd64_pc_word = amd64_sp_word + 1;

/// That of aarch64: x0 to x30, sp, pc.
inline constexpr std::int32_t aarch64_fp_word = aarch64_registers.frame_pointer,
                              aarch64_sp_word = aarch64_general_registers;

/// Whether the three rules read SP, FP and PC from their places in an array, counted in words, and where it starts.
struct SavedArray {
  bool found = false;
  std::int32_t offset = 0;  ///< of its first word, from SP
};
inline SavedArray saved_array(const PackedRow& row, std::uint32_t sp_number, std::int32_t sp_word, std::int32_t fp_word,
                              std::int32_t pc_word) {
  const std::uint8_t all = PackedRow::cfa_dereferenced | PackedRow::ra_dereferenced | PackedRow::fp_dereferenced;
  const bool from_sp = row.cfa_base == sp_number && row.ra_base == sp_number && row.fp_base == sp_number;
  const std::int64_t first = row.cfa_offset - 8 * std::int64_t{sp_word};
  const bool in_place =
      row.fp_offset == first + 8 * std::int64_t{fp_word} && row.ra_offset == first + 8 * std::int64_t{pc_word};
  return {(row.flags & all) == all && from_sp && in_place && first >= 0, static_cast<std::int32_t>(first)};
}

/// Puts them into `registers`, which are still those of the signal frame, and returns which: none, where the array is
/// of no known shape. Reads nothing that a row does not vouch for.
template <typename Memory>
std::uint32_t restore_interrupted(const PackedRow& row, const sframe::AbiTraits& abi, Memory& memory,
                                  Registers& registers) {
  SavedArray array;
  std::uint32_t count = 0;
  if (abi.abi == sframe::Abi::Amd64) {
    array = saved_array(row, abi.stack_pointer, amd64_sp_word, amd64_fp_word, amd64_pc_word);
    count = amd64_sp_word;
  } else if (abi.abi == sframe::Abi::Aarch64Little || abi.abi == sframe::Abi::Aarch64Big) {
    array = saved_array(row, abi.stack_pointer, aarch64_sp_word, aarch64_fp_word, aarch64_sp_word + 1);
    count = aarch64_general_registers;
  }
  if (!array.found) return 0;
  const std::uint64_t first = registers.values[abi.stack_pointer] + static_cast<std::uint64_t>(array.offset);
  std::uint32_t known = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = abi.abi == sframe::Abi::Amd64 ? amd64_saved_order[i] : i;
    std::uint64_t value = 0;
    if (!memory.word(first + 8 * std::uint64_t{i}, value)) continue;
    registers.values[number] = value;
    known |= 1U << number;
  }
  return known;
}

}  // namespace sframe_gen::unwind

/// A row's rules on real registers and memory. `Memory` has `bool word(address, value&)`, in the order of the walked
/// machine's bytes, and `plain(address)`, which takes a signature off.
namespace sframe_gen::unwind {

inline std::uint64_t moved(std::uint64_t base, std::int32_t offset) {
  return base + static_cast<std::uint64_t>(std::int64_t{offset});
}

/// Whether the caller's frame lies where a caller's can. A stack grows down, so the caller's SP is above; only an
/// interrupted function need not have pushed anything. Another stack may lie anywhere: a signal's, or one that the CFA
/// was read from. What comes back to itself is never left.
inline bool makes_progress(const PackedRow& row, const Registers& from, std::uint32_t sp_number, std::uint64_t sp,
                           std::uint64_t pc) {
  if (!from.knows(sp_number)) return true;
  const std::uint64_t before = from.values[sp_number];
  if (sp == before && pc == from.pc) return false;
  if (row.has(PackedRow::signal_frame | PackedRow::cfa_dereferenced)) return true;
  return from.pc_is_exact != 0 ? sp >= before : sp > before;
}

/// `registers` become the caller's, if it comes to Stepped.
template <typename Memory>
Stop apply(const PackedRow& row, const sframe::AbiTraits& abi, Memory& memory, Registers& registers) {
  if (row.has(PackedRow::outermost)) return Stop::Outermost;
  if (!registers.knows(row.cfa_base)) return Stop::UnknownRegister;
  std::uint64_t cfa = moved(registers.values[row.cfa_base], row.cfa_offset);
  if (row.has(PackedRow::cfa_dereferenced) && !memory.word(cfa, cfa)) return Stop::UnreadableMemory;

  const bool ra_from_cfa = row.ra_base == PackedRow::cfa;
  if (!ra_from_cfa && !registers.knows(row.ra_base)) return Stop::UnknownRegister;
  std::uint64_t pc = moved(ra_from_cfa ? cfa : registers.values[row.ra_base], row.ra_offset);
  if (row.has(PackedRow::ra_dereferenced) && !memory.word(pc, pc)) return Stop::UnreadableMemory;
  if (row.has(PackedRow::mangled_ra)) pc = memory.plain(pc);
  if (pc == 0) return Stop::Outermost;

  // GCC's CFI of realigned frames is off by an instruction: once the epilogue has popped rbp, its rule still counts
  // from rbp, now the caller's. A frame pointer that cannot be had does no harm as long as no frame asks for it.
  const bool fp_from_cfa = row.fp_base == PackedRow::cfa;
  bool fp_known = fp_from_cfa || registers.knows(row.fp_base);
  std::uint64_t fp = 0;
  if (fp_known) {
    fp = moved(fp_from_cfa ? cfa : registers.values[row.fp_base], row.fp_offset);
    if (row.has(PackedRow::fp_dereferenced)) fp_known = memory.word(fp, fp);
  }

  const std::uint64_t sp = moved(cfa, abi.stack_pointer_bias);
  if (!makes_progress(row, registers, abi.stack_pointer, sp, pc)) return Stop::NoProgress;
  const bool interrupted = row.has(PackedRow::signal_frame);
  std::uint32_t others = 0;
  if (interrupted) others = restore_interrupted(row, abi, memory, registers);
  registers.pc = pc;
  registers.pc_is_exact = interrupted ? 1 : 0;
  registers.values[abi.stack_pointer] = sp;
  registers.values[abi.frame_pointer] = fp;
  others &= ~(1U << abi.frame_pointer);
  registers.known = others | 1U << abi.stack_pointer | (fp_known ? 1U << abi.frame_pointer : 0U);
  return Stop::Stepped;
}

}  // namespace sframe_gen::unwind
