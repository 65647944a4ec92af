#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "support/range.hpp"
#include "verify/cfi_sections.hpp"
#include "verify/libdwarf.hpp"

namespace sframe_gen::verify {

/// Proves that the caller's SP is CFA + the ABI's bias throughout an FDE, whatever register or slot a rule names for
/// it. s390x: the CFA counts from SP or FP at each row, and a row has the CFA of a function's entry and no rule for SP.
/// Its frame's CFA and its caller's SP are the same at all rows. The rows are those of libdwarf; cfi/interpreter.cpp
/// has its own.
///
/// An FDE proves nothing if it or its CIE gives the CFA or SP by an expression anywhere, or has an unknown opcode.
///
/// An FDE of which only a part counts proves nothing: it goes on after its section, as only damage makes it, or
/// .eh_frame describes some of what it says in .debug_frame. The row of its entry may be in the other part.
class StackPointerProofs {
 public:
  /// `eh_frame`: what the FDEs of .eh_frame describe. `image` must outlive the object.
  StackPointerProofs(const elf::Image& image, RangeSet eh_frame) : image_(image), eh_frame_(std::move(eh_frame)) {}

  /// `session` must be the same for as long as the object lives, or outlive it.
  bool holds(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi);

 private:
  struct Answer {
    const DwarfSession* session;
    std::size_t fde_index;
    bool holds;
  };

  bool counts_as_a_whole(const DwarfFde& fde, CfiKind kind) const;

  const elf::Image& image_;
  RangeSet eh_frame_;
  std::optional<Answer> last_;  ///< one FDE is asked about PC by PC
};

/// Checks whether the return address is signed at `pc` of FDE `fde_index` (DWARF for the Arm 64-bit Architecture,
/// section 4.1): libdwarf passes over DW_CFA_AARCH64_negate_ra_state, so this counts them. No value: signed with the
/// PC, or a rule other than the opcode's says it. Throws MalformedInput.
std::optional<bool> signed_at(const DwarfTable& table, std::size_t fde_index, std::uint64_t pc);

}  // namespace sframe_gen::verify
