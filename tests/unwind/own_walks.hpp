#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/unwind.hpp"
#include "tables.hpp"

namespace sframe_gen::unwind {

/// PCs of a stack, innermost first.
class Pcs {
 public:
  static constexpr std::size_t capacity = 8192;

  void clear() { count_ = 0; }
  bool full() const { return count_ == capacity; }
  void add(std::uint64_t pc) { pcs_[count_++] = pc; }
  std::span<std::uint64_t> room() { return pcs_; }
  void resize(std::size_t count) { count_ = count; }
  std::size_t size() const { return count_; }
  std::uint64_t operator[](std::size_t i) const { return pcs_[i]; }

 private:
  std::array<std::uint64_t, capacity> pcs_{};
  std::size_t count_ = 0;
};

/// Memory that a walk may read.
struct Stack {
  std::uint64_t low, high;
};

/// Walks the stack by .sframe alone, with the library as it serves any process.
Stop walk(const Tables& tables, Registers registers, const Stack& stack, Pcs& pcs);

/// The same from a signal handler's context, with the library as it serves its own process.
Stop walk_own(const void* ucontext, Pcs& pcs);

}  // namespace sframe_gen::unwind
