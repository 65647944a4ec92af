#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "unwind/interrupted.hpp"
#include "unwind/packed_row.hpp"

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
