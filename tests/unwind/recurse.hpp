#pragma once

#include <cstddef>
#include <cstring>

/// Calls `action` below `depth` more frames of this function, each with more than `size` bytes of stack. Compilers make
/// no loop of it, and keep each frame.
template <std::size_t size>
[[gnu::noinline]] int recurse(int depth, void (*action)()) {
  char bytes[size];
  std::memset(bytes, depth, sizeof bytes);
  asm volatile("" : : "r"(bytes) : "memory");
  if (depth == 0) {
    action();
  } else {
    recurse<size>(depth - 1, action);
  }
  asm volatile("" : : "r"(bytes) : "memory");
  return bytes[static_cast<std::size_t>(depth) % size];
}
