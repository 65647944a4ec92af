#pragma once

#include <cstddef>
#include <optional>

#include "sframe/abi.hpp"
#include "verify/dwarf_session.hpp"

namespace sframe_gen::verify {

/// Whether the caller's SP is CFA + the ABI's bias throughout an FDE, whatever register or slot a rule names for it.
/// s390x: the CFA counts from SP or FP at each row, and a row has the CFA of a function's entry and no rule for SP. Its
/// frame's CFA and its caller's SP are the same at all rows. Asked of libdwarf, apart from cfi/stack_pointer_proof.cpp.
class StackPointerProofs {
 public:
  /// `session` must be the same for as long as the object lives, or outlive it.
  bool holds(const DwarfSession& session, std::size_t fde_index, const sframe::AbiTraits& abi);

 private:
  struct Answer {
    const DwarfSession* session;
    std::size_t fde_index;
    bool holds;
  };
  std::optional<Answer> last_;  ///< one FDE is asked about PC by PC
};

}  // namespace sframe_gen::verify
