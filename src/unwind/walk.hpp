#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "unwind/registers.hpp"
#include "unwind/row_cache.hpp"

/// From frame to frame, of this process or another one. What differs between the two are where rows are found and how
/// memory is read:
///
///     Rows:   const sframe::AbiTraits& abi()
///             Stop find(pc, RowCache::Found& place, PackedRow& row)   `place` is the last row's, and then this one's
///             bool return_from_signal(memory, registers)              as find_signal_frame() has it
///     Memory: bool word(address, value&)                              in the order of the walked machine's bytes
///             std::uint64_t plain(address)                            without a signature
namespace sframe_gen::unwind {

/// Returns the last of ascending modules that begins at or before `pc`, or the first one. There must be one.
template <typename Module>
const Module* last_begin(std::span<Module> modules, std::uint64_t pc) {
  const Module* first = modules.data();
  for (std::size_t count = modules.size(); count > 1; count -= count / 2) {
    if (first[count / 2].begin <= pc) first += count / 2;
  }
  return first;
}

/// Returns a base plus an offset.
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

/// Puts the other registers of code that a signal has interrupted into `registers`, which are still those of the signal
/// frame, and returns which. The kernel has saved all of them in one array, and a signal frame's rules say where that
/// is: SP, FP and PC are in it at distances that no other array has. None, if the rules are others. Reads nothing that
/// a row does not vouch for.
template <typename Memory>
std::uint32_t restore_interrupted(const PackedRow& row, const sframe::AbiTraits& abi, Memory& memory,
                                  Registers& registers) {
  constexpr std::uint8_t all = PackedRow::cfa_dereferenced | PackedRow::ra_dereferenced | PackedRow::fp_dereferenced;
  const std::uint32_t sp = abi.stack_pointer;
  const SavedRegisters saved = saved_for_signal(abi.abi);
  const std::int64_t first = row.cfa_offset - 8 * std::int64_t{saved.word_of(sp)};
  const bool in_place = row.fp_offset == first + 8 * std::int64_t{saved.word_of(abi.frame_pointer)} &&
                        row.ra_offset == first + 8 * std::int64_t{saved.pc};
  const bool from_sp = row.cfa_base == sp && row.ra_base == sp && row.fp_base == sp;
  // Where the CFA is not the caller's SP, none is read from an array.
  if ((row.flags & all) != all || !from_sp || !in_place || first < 0 || abi.stack_pointer_bias != 0) return 0;
  const std::uint64_t begin = registers.values[sp] + static_cast<std::uint64_t>(first);
  std::uint32_t known = 0;
  for (const SavedRegister& one : saved.registers) {
    std::uint64_t value = 0;
    if (!memory.word(begin + std::uint64_t{8} * one.word, value)) continue;
    registers.values[one.number] = value;
    known |= 1U << one.number;
  }
  return known;
}

/// Makes `registers` the caller's, if it returns Stepped.
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

/// To the caller of the frame in `registers`, which stay as they are unless it returns Stepped.
template <typename Rows, typename Memory>
Stop step(Rows& rows, Memory& memory, RowCache::Found& place, Registers& registers) {
  PackedRow row;
  const Stop stop = rows.find(registers.pc - (registers.pc_is_exact != 0 ? 0 : 1), place, row);
  if (stop == Stop::Stepped) return apply(row, rows.abi(), memory, registers);
  return stop != Stop::BadSection && rows.return_from_signal(memory, registers) ? Stop::Stepped : stop;
}

/// A walk into `pcs`, from the frame in `registers` outwards; these become the last frame's.
template <typename Rows, typename Memory, typename Pc>
class Walk {
 public:
  Walk(Rows& rows, Memory& memory, Registers& registers, std::span<Pc> pcs)
      : rows_(rows), memory_(memory), registers_(registers), pcs_(pcs) {}

  /// Returns the number of frames. `stop` is Stepped if there is no room for more.
  std::size_t run(Stop& stop) {
    stop = Stop::Stepped;
    if (!pcs_.empty()) add(registers_.pc);
    while (count_ < pcs_.size()) {
      run_common();
      if (count_ == pcs_.size()) break;
      stop = step(rows_, memory_, place_, registers_);
      if (stop != Stop::Stepped) break;
      add(registers_.pc);
    }
    return count_;
  }

 private:
  /// What a walk by rows of the common form goes on with: more would have to be kept in memory from frame to frame.
  struct Caller {
    std::uint64_t pc, sp, fp;
  };

  void add(std::uint64_t pc) { pcs_.data()[count_++] = std::bit_cast<Pc>(pc); }

  /// Walks as far as rows of the common form lead, with all that changes in processor registers.
  void run_common() {
    const sframe::AbiTraits& abi = rows_.abi();
    if (registers_.pc_is_exact != 0 || !registers_.knows(abi.stack_pointer) || !registers_.knows(abi.frame_pointer))
      return;
    Caller frame{registers_.pc, registers_.values[abi.stack_pointer], registers_.values[abi.frame_pointer]};
    std::uint64_t pc_of_row = 0;
    PackedRow row;
    RowCache::Found place = place_;
    const std::size_t before = count_;
    while (count_ < pcs_.size()) {
      // In a recursion, what a row says need not wait for the return address.
      if (frame.pc != pc_of_row) {
        if (rows_.find(frame.pc - 1, place, row) != Stop::Stepped) break;
        pc_of_row = frame.pc;
      }
      if (!row.has(PackedRow::common) || !step_common(row, abi, frame)) break;
      add(frame.pc);
    }
    place_ = place;
    if (count_ == before) return;
    registers_.pc = frame.pc;
    registers_.values[abi.stack_pointer] = frame.sp;
    registers_.values[abi.frame_pointer] = frame.fp;
    registers_.known = 1U << abi.stack_pointer | 1U << abi.frame_pointer;
  }

  /// One step by a row of the common form. False: step() finds out why not.
  bool step_common(const PackedRow& row, const sframe::AbiTraits& abi, Caller& frame) {
    const std::uint64_t cfa = moved(row.has(PackedRow::cfa_from_fp) ? frame.fp : frame.sp, row.cfa_offset);
    const std::uint64_t sp = moved(cfa, abi.stack_pointer_bias);
    std::uint64_t pc = 0;
    std::uint64_t fp = frame.fp;
    if (sp <= frame.sp || !memory_.word(moved(cfa, row.ra_offset), pc) || pc == 0) return false;
    if (row.has(PackedRow::fp_dereferenced) && !memory_.word(moved(cfa, row.fp_offset), fp)) return false;
    frame = {pc, sp, fp};
    return true;
  }

  Rows& rows_;
  Memory& memory_;
  RowCache::Found place_;  ///< of the last row
  Registers& registers_;
  std::span<Pc> pcs_;
  std::size_t count_ = 0;
};

}  // namespace sframe_gen::unwind
