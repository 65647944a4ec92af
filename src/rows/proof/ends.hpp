#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "rows/proof/function_proof.hpp"
#include "support/hash.hpp"

namespace sframe_gen::rows::proof {

/// How one knows of a function's start, once all functions are followed.
struct Standing {
  bool is_described = false;   ///< CFI describes it
  bool is_sure_start = false;  ///< it is called, or has a symbol
  bool is_entry_point = false;
  bool is_called_first = false;  ///< by the entry point, of this program or of any
};

/// Refuses functions whose ends prove nothing, and those that only refused functions jump to.
///
/// A return proves by itself: what it takes from the stack is the return address. A jump to a function that is proved
/// proves as well. Other ends say nothing of where the return address is: they count where a proved function calls this
/// one, as the call has put it there, and where CFI describes an entry. A function without CFI may then also end where
/// the program ends.
///
/// The entry point calls as well, and its callee may go on by jumps without a frame: musl's functions up to the one
/// that calls main() go so, and do not return. Each of them finds the return address of that call.
///
/// `numbers`: the place in `functions` of each start.
void refuse_unproved_ends(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                          const std::function<Standing(std::uint64_t)>& standing_of);

}  // namespace sframe_gen::rows::proof
