#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sframe_gen {

/// XXH3, 128 bits, in its canonical byte order: tells accidents from identity at the speed of memory, and is what
/// `xxh128sum` prints. It is no protection against somebody who wants two files to look alike.
using Digest = std::array<std::byte, 16>;

/// Bytes that come in pieces.
class Digester {
 public:
  Digester();
  void update(std::span<const std::byte> bytes);
  /// So many zeros, a hole's for one.
  void update_zeros(std::uint64_t size);
  Digest digest() const;

 private:
  struct State;
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

}  // namespace sframe_gen
