#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tables.hpp"

namespace sframe_gen::unwind {

/// Registers by DWARF number; below the innermost frame only those SFrame recovers are known.
struct Registers {
  static constexpr std::size_t count = 16, fp = 6, sp = 7;
  std::array<std::optional<std::uint64_t>, count> values{};
  std::uint64_t pc = 0;
};

/// PCs of a stack, innermost first.
class Pcs {
 public:
  static constexpr std::size_t capacity = 8192;

  void clear() { count_ = 0; }
  bool full() const { return count_ == capacity; }
  void add(std::uint64_t pc) { pcs_[count_++] = pc; }
  std::size_t size() const { return count_; }
  std::uint64_t operator[](std::size_t i) const { return pcs_[i]; }

 private:
  std::array<std::uint64_t, capacity> pcs_{};
  std::size_t count_ = 0;
};

/// Why a walk stopped.
enum class End {
  Outermost,        ///< the row says so
  NoSection,        ///< the code belongs to a file without .sframe
  NotCode,          ///< a return address is in no file
  NoRow,            ///< the file's .sframe leaves the PC out
  UnknownRegister,  ///< a rule is based on a register that is known in the innermost frame only
  OutsideStack,     ///< a rule leads to memory that is not the stack's
  TooDeep,
};
inline constexpr std::size_t end_count = 7;

/// Memory that a walk may read.
struct Stack {
  std::uint64_t low, high;
};

struct Walk {
  End end;
  const sframe::Fde* innermost;  ///< null: no descriptor
};

/// Walks the stack by .sframe alone. `pc_is_exact`: the PC is that of an interrupted instruction, not a return address.
/// Needs no memory of its own and takes no lock, so it may run in a signal handler.
Walk walk(const Tables& tables, Registers registers, bool pc_is_exact, const Stack& stack, Pcs& pcs);

}  // namespace sframe_gen::unwind
