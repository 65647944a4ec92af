#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.h"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/registers.hpp"

namespace sframe_gen::unwind {

/// A row in 16 bytes, as steps take it: bases are indices into a frame's registers. `a`, `r`, `f` are the three
/// offsets. Its forms, and what they mean:
///
///     common                    CFA = SP + a, RA = *(CFA + r), FP as it is         no frame pointer, or not yet
///     common, fp_dereferenced   CFA = SP + a, RA = *(CFA + r), FP = *(CFA + f)     FP is saved
///     common, cfa_from_fp, fp_dereferenced
///                               CFA = FP + a, RA = *(CFA + r), FP = *(CFA + f)     with a frame pointer
///     outermost                 there is no caller
///     any other                 CFA, RA, FP = base + offset or *(base + offset); of RA and FP, the base may be the CFA
struct PackedRow {
  static constexpr std::uint8_t cfa = 32;      ///< as a base
  static constexpr std::uint8_t unknown = 33;  ///< a register that no frame knows
  static constexpr std::uint8_t cfa_dereferenced = 1, ra_dereferenced = 2, fp_dereferenced = 4, mangled_ra = 8,
                                signal_frame = 16, outermost = 32;
  /// The row of nearly every function: CFA = SP or FP + offset, RA = *(CFA + offset), FP = *(CFA + offset) or
  /// unchanged.
  static constexpr std::uint8_t common = 64, cfa_from_fp = 128;

  std::int32_t cfa_offset = 0, ra_offset = 0, fp_offset = 0;
  std::uint8_t cfa_base = unknown, ra_base = unknown, fp_base = unknown;
  std::uint8_t flags = 0;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(PackedRow) == 16);

/// Returns which of the two flags of the common form a row has.
inline std::uint8_t common_form(const PackedRow& row, const sframe::AbiTraits& abi) {
  const bool unusual = row.has(PackedRow::cfa_dereferenced | PackedRow::mangled_ra | PackedRow::signal_frame);
  const bool from_fp = row.cfa_base == abi.frame_pointer;
  const bool ra_saved = row.ra_base == PackedRow::cfa && row.has(PackedRow::ra_dereferenced);
  const bool fp_saved = row.fp_base == PackedRow::cfa && row.has(PackedRow::fp_dereferenced);
  const bool fp_kept = row.fp_base == abi.frame_pointer && row.fp_offset == 0 && !row.has(PackedRow::fp_dereferenced);
  if (unusual || !ra_saved || !(fp_saved || fp_kept) || !(from_fp || row.cfa_base == abi.stack_pointer)) return 0;
  return from_fp ? PackedRow::common | PackedRow::cfa_from_fp : PackedRow::common;
}

/// Packs the row of a look-up, which has all rules.
inline PackedRow packed(const sframe::Lookup& found, const sframe::AbiTraits& abi) {
  PackedRow made;
  const auto pack = [&made](const sframe::Rule& rule, std::uint8_t& base, std::int32_t& offset,
                            std::uint8_t dereferenced) {
    if (!rule.base_register) {
      base = PackedRow::cfa;
    } else if (*rule.base_register < Registers::count) {
      base = static_cast<std::uint8_t>(*rule.base_register);
    }
    offset = rule.offset;
    if (rule.dereferenced) made.flags |= dereferenced;
  };
  const sframe::RecoveryRules& row = found.row;
  pack(row.cfa, made.cfa_base, made.cfa_offset, PackedRow::cfa_dereferenced);
  pack(*row.return_address, made.ra_base, made.ra_offset, PackedRow::ra_dereferenced);
  pack(*row.frame_pointer, made.fp_base, made.fp_offset, PackedRow::fp_dereferenced);
  if (row.mangled_ra) made.flags |= PackedRow::mangled_ra;
  if (found.signal_frame) made.flags |= PackedRow::signal_frame;
  made.flags |= common_form(made, abi);
  return made;
}

/// Looks up what a section has for `pc`, an address as the view knows it.
inline Stop row_in_section(const sframe::SectionView& view, const sframe::AbiTraits& abi, std::uint64_t pc,
                           PackedRow& row) {
  if (!view.is_open()) return Stop::NoSection;
  if (view.abi() != abi.abi) return Stop::BadSection;
  const sframe::Lookup found = view.lookup(pc);
  switch (found.kind) {
    case sframe::Lookup::Kind::Nothing:
      return Stop::NoRow;
    case sframe::Lookup::Kind::Damaged:
      return Stop::BadSection;
    case sframe::Lookup::Kind::Outermost:
      row = {};
      row.flags = PackedRow::outermost;
      return Stop::Stepped;
    case sframe::Lookup::Kind::Row:
      break;
  }
  row = packed(found, abi);
  return Stop::Stepped;
}

/// Looks up what the two sections of a module have for `pc`, an address as both views know it: the second one counts
/// where the first has no row. Null: there is none.
inline Stop row_in_sections(const sframe::SectionView* first, const sframe::SectionView* second,
                            const sframe::AbiTraits& abi, std::uint64_t pc, PackedRow& row) {
  const Stop stop = first != nullptr ? row_in_section(*first, abi, pc, row) : Stop::NoSection;
  if (stop == Stop::Stepped || second == nullptr) return stop;
  const Stop with_second = row_in_section(*second, abi, pc, row);
  return with_second == Stop::Stepped || stop == Stop::NoSection ? with_second : stop;
}

/// Returns the last of ascending modules that begins at or before `pc`, or the first one. There must be one.
template <typename Module>
const Module* last_begin(std::span<Module> modules, std::uint64_t pc) {
  const Module* first = modules.data();
  for (std::size_t count = modules.size(); count > 1; count -= count / 2) {
    if (first[count / 2].begin <= pc) first += count / 2;
  }
  return first;
}

/// Reads what a process has.
template <typename T>
concept WalkedMemory = requires(T memory, std::uint64_t address, std::uint64_t& value) {
  { memory.word(address, value) } -> std::same_as<bool>;     // in the order of the walked machine's bytes
  { memory.plain(address) } -> std::same_as<std::uint64_t>;  // without a signature
};

/// Finds rows for a process's PCs.
template <typename T, typename Memory>
concept RowFinder = requires(T rows, std::uint64_t pc, typename T::Place& place, PackedRow& row, Stop why,
                             Memory& memory, Registers& registers) {
  { rows.abi() } -> std::same_as<const sframe::AbiTraits&>;
  { rows.find(pc, place, row) } -> std::same_as<Stop>;  // `place` is where the last row was, and then this one
  { rows.step_without_row(why, memory, registers) } -> std::same_as<Stop>;  // to the caller in another way, or `why`
};

/// A walk from the frame in `registers` outwards, of this process or another one; these become the last frame's.
/// `Pc`: what is stored of each frame, its PC or a sframe_unwind_frame.
template <typename Rows, WalkedMemory Memory, typename Pc>
requires RowFinder<Rows, Memory>
class Walk {
 public:
  Walk(Rows& rows, Memory& memory, Registers& registers, std::span<Pc> pcs)
      : rows_(rows), memory_(memory), registers_(registers), pcs_(pcs) {}

  /// Returns the number of frames whose PCs are in `pcs`. `stop` is Stepped if there is no room for more. `pauses`: it
  /// is also Stepped after a caller that was interrupted.
  std::size_t run(Stop& stop, bool pauses = false) {
    stop = Stop::Stepped;
    if (!pcs_.empty()) add();
    while (count_ < pcs_.size()) {
      run_common();
      if (count_ == pcs_.size()) break;
      stop = step();
      if (stop != Stop::Stepped) break;
      add();
      if (pauses && registers_.pc_is_exact != 0) break;
    }
    return count_;
  }

  /// Goes to the caller of the frame in `registers`, which stay as they are unless it returns Stepped.
  Stop step() {
    PackedRow row;
    const Stop stop = rows_.find(registers_.pc - (registers_.pc_is_exact != 0 ? 0 : 1), place_, row);
    if (stop == Stop::Stepped) return apply(row);
    return rows_.step_without_row(stop, memory_, registers_);
  }

 private:
  /// What a walk by rows of the common form goes on with: more would have to be kept in memory from frame to frame.
  struct Caller {
    std::uint64_t pc, sp, fp;
  };

  void add() { add(registers_.pc, registers_.values[rows_.abi().stack_pointer], registers_.pc_is_exact); }

  void add(std::uint64_t pc, [[maybe_unused]] std::uint64_t sp, [[maybe_unused]] std::uint32_t is_exact) {
    if constexpr (sizeof(Pc) == sizeof pc) {
      pcs_.data()[count_++] = std::bit_cast<Pc>(pc);
    } else {
      pcs_.data()[count_++] = {pc, sp, is_exact, 0};
    }
  }

  /// Walks as far as rows of the common form lead, with all that changes in processor registers. Without it, a frame
  /// takes 1.1 (other modules) to 4.3 times (recursion) as long (docs/performance.md).
  void run_common() {
    const sframe::AbiTraits& abi = rows_.abi();
    if (registers_.pc_is_exact != 0 || !registers_.knows(abi.stack_pointer) || !registers_.knows(abi.frame_pointer))
      return;
    Caller frame{registers_.pc, registers_.values[abi.stack_pointer], registers_.values[abi.frame_pointer]};
    std::uint64_t pc_of_row = 0;
    PackedRow row;
    typename Rows::Place place = place_;
    const std::size_t before = count_;
    while (count_ < pcs_.size()) {
      // In a recursion, what a row says need not wait for the return address.
      if (frame.pc != pc_of_row) {
        if (rows_.find(frame.pc - 1, place, row) != Stop::Stepped) break;
        pc_of_row = frame.pc;
      }
      if (!row.has(PackedRow::common) || !apply_common(row, abi, frame)) break;
      add(frame.pc, frame.sp, 0);
    }
    place_ = place;
    if (count_ == before) return;
    registers_.pc = frame.pc;
    registers_.values[abi.stack_pointer] = frame.sp;
    registers_.values[abi.frame_pointer] = frame.fp;
    registers_.known = 1U << abi.stack_pointer | 1U << abi.frame_pointer;
  }

  /// One step by a row of the common form. False: apply() finds out why not.
  bool apply_common(const PackedRow& row, const sframe::AbiTraits& abi, Caller& frame) {
    const std::uint64_t cfa = moved(row.has(PackedRow::cfa_from_fp) ? frame.fp : frame.sp, row.cfa_offset);
    const std::uint64_t sp = moved(cfa, abi.stack_pointer_bias);
    std::uint64_t pc = 0;
    std::uint64_t fp = frame.fp;
    if (sp <= frame.sp || !memory_.word(moved(cfa, row.ra_offset), pc) || pc == 0) return false;
    if (row.has(PackedRow::fp_dereferenced) && !memory_.word(moved(cfa, row.fp_offset), fp)) return false;
    frame = {pc, sp, fp};
    return true;
  }

  /// One step by any row.
  Stop apply(const PackedRow& row) {
    const sframe::AbiTraits& abi = rows_.abi();
    Registers& registers = registers_;
    if (row.has(PackedRow::outermost)) return Stop::Outermost;
    if (!registers.knows(row.cfa_base)) return Stop::UnknownRegister;
    std::uint64_t cfa = moved(registers.values[row.cfa_base], row.cfa_offset);
    if (row.has(PackedRow::cfa_dereferenced) && !memory_.word(cfa, cfa)) return Stop::UnreadableMemory;

    const bool ra_from_cfa = row.ra_base == PackedRow::cfa;
    if (!ra_from_cfa && !registers.knows(row.ra_base)) return Stop::UnknownRegister;
    std::uint64_t pc = moved(ra_from_cfa ? cfa : registers.values[row.ra_base], row.ra_offset);
    if (row.has(PackedRow::ra_dereferenced) && !memory_.word(pc, pc)) return Stop::UnreadableMemory;
    if (row.has(PackedRow::mangled_ra)) pc = memory_.plain(pc);
    if (pc == 0) return Stop::Outermost;

    // GCC's CFI of realigned frames is off by an instruction: once the epilogue has popped rbp, its rule still counts
    // from rbp, now the caller's. A frame pointer that cannot be had does no harm as long as no frame asks for it.
    const bool fp_from_cfa = row.fp_base == PackedRow::cfa;
    bool fp_known = fp_from_cfa || registers.knows(row.fp_base);
    std::uint64_t fp = 0;
    if (fp_known) {
      fp = moved(fp_from_cfa ? cfa : registers.values[row.fp_base], row.fp_offset);
      if (row.has(PackedRow::fp_dereferenced)) fp_known = memory_.word(fp, fp);
    }

    const std::uint64_t sp = moved(cfa, abi.stack_pointer_bias);
    if (!makes_progress(row, sp, pc)) return Stop::NoProgress;
    const bool interrupted = row.has(PackedRow::signal_frame);
    std::uint32_t others = 0;
    if (interrupted) others = restore_interrupted(row);
    registers.pc = pc;
    registers.pc_is_exact = interrupted ? 1 : 0;
    registers.values[abi.stack_pointer] = sp;
    registers.values[abi.frame_pointer] = fp;
    others &= ~(1U << abi.frame_pointer);
    registers.known = others | 1U << abi.stack_pointer | (fp_known ? 1U << abi.frame_pointer : 0U);
    return Stop::Stepped;
  }

  /// Whether the caller's frame is where a caller's can be. A stack grows down, so the caller's SP is higher; only an
  /// interrupted function need not have pushed anything. Another stack may be anywhere: a signal's, or one that the CFA
  /// was read from. A frame that is its own caller is never left.
  bool makes_progress(const PackedRow& row, std::uint64_t sp, std::uint64_t pc) const {
    const std::uint32_t number = rows_.abi().stack_pointer;
    if (!registers_.knows(number)) return true;
    const std::uint64_t before = registers_.values[number];
    if (sp == before && pc == registers_.pc) return false;
    if (row.has(PackedRow::signal_frame | PackedRow::cfa_dereferenced)) return true;
    return registers_.pc_is_exact != 0 ? sp >= before : sp > before;
  }

  /// Puts the other registers of code that a signal has interrupted into `registers`, which are still those of the
  /// signal frame, and returns which. The kernel has saved all of them in one array, and a signal frame's rules say
  /// where that is: SP, FP and PC are in it at distances that no other array has. None, if the rules are others. Reads
  /// nothing that a row does not vouch for.
  std::uint32_t restore_interrupted(const PackedRow& row) {
    constexpr std::uint8_t all = PackedRow::cfa_dereferenced | PackedRow::ra_dereferenced | PackedRow::fp_dereferenced;
    const sframe::AbiTraits& abi = rows_.abi();
    const std::uint32_t sp = abi.stack_pointer;
    const SavedRegisters saved = saved_for_signal(abi.abi);
    const std::int64_t first = row.cfa_offset - 8 * std::int64_t{saved.word_of(sp)};
    const bool in_place = row.fp_offset == first + 8 * std::int64_t{saved.word_of(abi.frame_pointer)} &&
                          row.ra_offset == first + 8 * std::int64_t{saved.pc};
    const bool from_sp = row.cfa_base == sp && row.ra_base == sp && row.fp_base == sp;
    // Where the CFA is not the caller's SP, none is read from an array.
    if ((row.flags & all) != all || !from_sp || !in_place || first < 0 || abi.stack_pointer_bias != 0) return 0;
    const std::uint64_t begin = registers_.values[sp] + static_cast<std::uint64_t>(first);
    std::uint32_t known = 0;
    for (const SavedRegister& one : saved.registers) {
      std::uint64_t value = 0;
      if (!memory_.word(begin + std::uint64_t{8} * one.word, value)) continue;
      registers_.values[one.number] = value;
      known |= 1U << one.number;
    }
    return known;
  }

  static std::uint64_t moved(std::uint64_t base, std::int32_t offset) {
    return base + static_cast<std::uint64_t>(std::int64_t{offset});
  }

  Rows& rows_;
  Memory& memory_;
  typename Rows::Place place_;  ///< of the last row
  Registers& registers_;
  std::span<Pc> pcs_;
  std::size_t count_ = 0;
};

}  // namespace sframe_gen::unwind
