#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

/// Where the code of one function ends, as far as is known by now.
class Borders {
 public:
  /// The program must outlive it. `own`: the function's code, which it begins.
  Borders(Program& program, const Range& own);

  /// The function of CFI that has the start; null: CFI does not describe the function.
  const cfi::Function* own_cfi() const { return own_cfi_; }
  /// Whether a jump to `pc` goes on in the function, unless another one begins there.
  bool may_be_reached_by_jump(std::uint64_t pc) const;
  /// Whether another function begins at `pc` as far as a path with this state can tell.
  bool begins_another(std::uint64_t pc, const State& state) const;
  /// Where code of an FDE ends, or another function begins.
  bool ends_at(std::uint64_t pc) const;
  /// Whether something says that another function may begin directly after a call: its address is taken, or it has an
  /// endbr64, as an indirect call needs it. `returns_twice`: the call, which is no reason for one, as setjmp's are.
  bool may_begin_after_call(std::uint64_t pc, bool returns_twice) const;
  /// Whether `pc` is in another function, and not its start.
  bool is_inside_another(std::uint64_t pc) const;
  /// Whether `pc` is code without CFI, beyond the function's own, which has none either.
  bool is_split_part(std::uint64_t pc) const;

  /// The imported function whose stub is at `pc`.
  std::optional<Import> import_at(std::uint64_t pc);
  bool is_import(std::uint64_t pc) { return !own_.contains(pc) && import_at(pc).has_value(); }

 private:
  Program& program_;
  Range own_;
  const cfi::Function* own_cfi_;
  std::map<std::uint64_t, std::optional<Import>> imports_;
};

}  // namespace sframe_gen::rows::proof
