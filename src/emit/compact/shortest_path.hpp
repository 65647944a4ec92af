#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/cuts.hpp"
#include "emit/compact/repeats.hpp"

namespace sframe_gen::emit::compact {

/// Prices are in parts of a byte, so that a block's price can be divided among its users.
inline constexpr std::uint64_t parts_per_byte = 4096;

/// A block of a path: from that cut of the run to the one where the next begins.
struct PathBlock {
  std::uint32_t begin;
  std::uint32_t repeated;  ///< the RepeatedBlock, or no_block
};
using Path = std::vector<PathBlock>;

/// What blocks cost.
struct Prices {
  std::uint64_t descriptor;  ///< of each block, besides its rows and their attribute
  std::uint64_t attribute_bytes;
  std::uint32_t most_rows;  ///< of a block with more than one cut
  bool heads_are_shared;    ///< a place of a block also has its heads, which cost nothing more
  std::span<const RepeatedBlock> blocks;
  /// By repeated block: what one of its users pays for it, if that is less than if the block did not repeat; otherwise
  /// the same of its longest head that is cheaper.
  struct Repeated {
    std::uint64_t share = 0;
    std::uint32_t head = no_block, cuts = 0;
  };
  std::vector<Repeated> repeated;

  /// Sets what a user of each repeated block pays for one of its bytes, or, if heads are shared, of the bytes that its
  /// head does not have.
  void set_shares(std::span<const std::uint64_t> shares);
};

/// Cuts a run into blocks so that the sum of their prices is the lowest. Returns that sum.
std::uint64_t shortest_path(const Run& run, const Prices& prices, Path& path);

}  // namespace sframe_gen::emit::compact
