#pragma once

#include <cstdint>
#include <set>

#include "rows/proof/borders.hpp"
#include "rows/proof/program.hpp"

namespace sframe_gen::rows::proof {

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
