#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

/// What one function has to know of others: where they begin, and what calls of them do.
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

/// What is known of a call.
struct Callee {
  CalleeEffect effect;
  bool is_sure_to_return = false;  ///< its code has no other end
  bool returns_twice = false;
  bool is_check = false;  ///< it does not return; compilers make it in every function
};

/// The functions that one function calls, directly or through the slots of imports.
class Callees {
 public:
  /// Both must outlive it. `start`: of the function that calls.
  Callees(Program& program, Borders& borders, std::uint64_t start);

  /// What the call at `pc` leads to, as far as is known by now.
  Callee of(const Instruction& call, std::uint64_t pc);
  /// Those of this file, each once, without the function itself.
  const std::set<std::uint64_t>& direct() const { return direct_; }

 private:
  Program& program_;
  Borders& borders_;
  std::uint64_t start_;
  std::set<std::uint64_t> direct_;
};

}  // namespace sframe_gen::rows::proof
