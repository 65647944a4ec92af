#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emit/compact/sequence.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

/// How a block is written.
struct BlockShape {
  std::uint32_t rows = 0;
  std::uint32_t bytes = 0;  ///< with version 3's attribute
  sframe::FreAddressWidth width = sframe::FreAddressWidth::One;
  sframe::FdeType type = sframe::FdeType::Default;
};

/// What any block of rows takes, from one cut to another, in constant time: by sums up to each cut.
class BlockSizes {
 public:
  /// Of no stretch yet. One thread may add one, by an Adder, while another adds another.
  BlockSizes(const Sequence& sequence, const UsedRules& rules, const Dialect& dialect);
  class Adder;

  /// From cut `begin` up to cut `end` of the same stretch; `end` may be that behind its last.
  BlockShape shape(std::uint32_t begin, std::uint32_t end) const {
    const bool plain = is_plain(begin, end);
    BlockShape shape;
    shape.rows = rows(begin, end);
    shape.width = fre_address_width_of_start(last_start(begin, end));
    shape.type = plain ? sframe::FdeType::Default : sframe::FdeType::Flexible;
    const std::uint32_t tails =
        plain ? nodes_[end].end.plain - nodes_[begin].begin.plain : flexible_[end].end - flexible_[begin].begin;
    shape.bytes = attribute_size_ + shape.rows * bytes_of(shape.width) + tails;
    return shape;
  }
  std::uint32_t rows(std::uint32_t begin, std::uint32_t end) const {
    return nodes_[end].end.rows - nodes_[begin].begin.rows;
  }
  /// Whether default rows can say it all.
  bool is_plain(std::uint32_t begin, std::uint32_t end) const {
    return nodes_[end].end.only_flexible == nodes_[begin].begin.only_flexible;
  }
  /// The largest row start.
  std::uint32_t last_start(std::uint32_t begin, std::uint32_t end) const {
    // The row before `end` may be another block's, where this one has nothing but a row that is repeated.
    const std::uint32_t first = nodes_[begin].offset, last = nodes_[end].row_before;
    return last > first ? last - first : 0;
  }

  /// A default block whose row starts take `width` bytes takes the difference between two numbers, modulo 2^32, one
  /// that follows from its end alone and one from its begin.
  struct PlainBytes {
    std::int32_t narrow, wide;  ///< with row starts of one byte and of two
  };
  PlainBytes plain_bytes_at_begin(std::uint32_t begin) const { return plain_bytes(nodes_[begin].begin, 0); }
  PlainBytes plain_bytes_at_end(std::uint32_t end) const { return plain_bytes(nodes_[end].end, attribute_size_); }

 private:
  static sframe::FreAddressWidth fre_address_width_of_start(std::uint32_t largest) {
    return largest <= UINT8_MAX    ? sframe::FreAddressWidth::One
           : largest <= UINT16_MAX ? sframe::FreAddressWidth::Two
                                   : sframe::FreAddressWidth::Four;
  }

  /// Over the rows before a cut, in its stretch.
  struct Sums {
    std::uint32_t rows;
    std::uint32_t plain;  ///< bytes of their tails in default form
    std::uint32_t only_flexible;
  };
  static PlainBytes plain_bytes(const Sums& sums, std::uint32_t more) {
    const std::uint32_t narrow = sums.rows + sums.plain + more;
    return {static_cast<std::int32_t>(narrow), static_cast<std::int32_t>(narrow + sums.rows)};
  }
  /// A power of two in size, for there is one for each cut, and each path asks millions of times.
  struct alignas(32) Node {
    Sums end;    ///< for blocks that end here: rows that repeat nothing
    Sums begin;  ///< for those that begin here, less the row at the cut where they begin with it though it repeats
    std::uint32_t offset;      ///< of the cut, from the start of its run
    std::uint32_t row_before;  ///< of the last row before the cut that repeats nothing: from the start of its run
  };
  /// Bytes of tails in flexible form.
  struct Flexible {
    std::uint32_t end, begin;
  };
  struct Tails {
    std::uint8_t plain, flexible, only_flexible;
  };

  std::uint32_t attribute_size_;
  std::vector<Tails> tails_;       ///< by rule
  std::unique_ptr<Node[]> nodes_;  ///< one a cut, and one behind the last
  std::unique_ptr<Flexible[]> flexible_;
};

/// Of one stretch, cut by cut and row by row. Of the cut behind the last one, which may be another stretch's first,
/// sets what is said of blocks that end there.
class BlockSizes::Adder {
 public:
  explicit Adder(BlockSizes& sizes)
      : tails_(sizes.tails_.data()), nodes_(sizes.nodes_.get()), flexible_(sizes.flexible_.get()) {}

  /// At a cut with that row. Where it repeats the one before it, it is not added.
  void begin(std::uint32_t cut, const Row& row, bool repeats) {
    Node& node = nodes_[cut];
    node.begin = sums_;
    node.offset = row.offset;
    flexible_[cut].begin = bytes_if_flexible_;
    if (repeats) {
      const Tails& own = tails_[row.rule];
      node.begin = {sums_.rows - 1, sums_.plain - own.plain, sums_.only_flexible - own.only_flexible};
      flexible_[cut].begin -= own.flexible;
    }
  }
  void add(const Row& row) {
    const Tails& tail = tails_[row.rule];
    ++sums_.rows;
    sums_.plain += tail.plain;
    sums_.only_flexible += tail.only_flexible;
    bytes_if_flexible_ += tail.flexible;
    last_offset_ = row.offset;
  }
  /// All rows behind that cut have been added.
  void end(std::uint32_t cut) {
    nodes_[cut + 1].end = sums_;
    nodes_[cut + 1].row_before = last_offset_;
    flexible_[cut + 1].end = bytes_if_flexible_;
  }

 private:
  const Tails* tails_;
  Node* nodes_;
  Flexible* flexible_;
  Sums sums_{0, 0, 0};
  std::uint32_t bytes_if_flexible_ = 0, last_offset_ = 0;
};

}  // namespace sframe_gen::emit::compact
