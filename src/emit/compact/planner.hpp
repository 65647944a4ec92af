#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/cuts.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

/// Prices are in parts of a byte, so that a block's price can be divided among its users.
inline constexpr std::uint32_t parts_per_byte = 4096;

/// A block of a path: from that cut of the run to the one where the next begins.
struct PathBlock {
  std::uint32_t begin;
  std::uint32_t repeated;  ///< the RepeatedBlock, or no_block
};
using Path = std::vector<PathBlock>;

/// What blocks cost.
struct Prices {
  std::int64_t descriptor;  ///< of each block, besides its rows and their attribute
  std::uint32_t attribute_bytes;
  std::uint32_t most_rows;  ///< of a block with more than one cut
  bool heads_are_shared;    ///< a place of a block also has its heads, which cost nothing more
  std::span<const RepeatedBlock> blocks;
  /// What one of its users pays for a repeated block, if that is less than if the block did not repeat; otherwise the
  /// same of its longest head that is cheaper.
  struct Repeated {
    std::uint32_t price = 0;
    std::uint32_t cuts = 0;
    std::uint32_t head = no_block;
  };
  std::vector<Repeated> repeated;  ///< by repeated block

  /// Sets prices by what a user of each repeated block pays for one of its bytes, or, if heads are shared, of the bytes
  /// that its head does not have.
  template <typename ShareOf>
  void set_shares(ShareOf share_of) {
    for (std::uint32_t i = 1; i < blocks.size(); ++i) set_share(i, share_of(i));
  }

 private:
  void set_share(std::uint32_t block, std::uint32_t share);
};

/// Cuts a run into blocks so that the sum of their prices is the lowest. Returns that sum.
std::uint64_t shortest_path(const Run& run, const Prices& prices, Path& path);

/// Chooses where to cut so that descriptors and rows take the fewest bytes: by shortest paths over the cuts.
///
/// The price of a descriptor follows from its two cuts alone but for a block that occurs elsewhere, which is stored
/// once. Its price is divided among its users, which are not known before the path is:
///
///     1. among all places where it occurs. No user can pay less, so this path's length is a bound for any choice.
///     2. among its users on the first path.
///     3. it is free if two or more used it. The sum over all then can only fall.
std::vector<Path> make_plan(std::span<Run> runs, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
