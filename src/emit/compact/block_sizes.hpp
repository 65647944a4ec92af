#pragma once

#include <cstdint>
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
  BlockSizes(const Sequence& sequence, const RuleTable& rules, const Dialect& dialect);

  /// From cut `begin` up to cut `end` of the same run; `end` may be that behind its last.
  BlockShape shape(std::uint32_t begin, std::uint32_t end) const {
    const Node& first = nodes_[begin];
    const Node& behind = nodes_[end];
    const bool only_flexible = behind.only_flexible + first.own_only_flexible != first.only_flexible;
    const std::uint32_t tails = only_flexible ? behind.flexible - first.flexible + first.own_flexible
                                              : behind.plain - first.plain + first.own_plain;
    BlockShape shape;
    shape.rows = rows(begin, end);
    // The row before `end` may be another block's, where this one has nothing but a row that is repeated.
    const std::uint32_t last = behind.row_before > first.offset ? behind.row_before - first.offset : 0;
    shape.width = fre_address_width_of_start(last);
    shape.type = only_flexible ? sframe::FdeType::Flexible : sframe::FdeType::Default;
    shape.bytes = attribute_size_ + shape.rows * bytes_of(shape.width) + tails;
    return shape;
  }
  std::uint32_t rows(std::uint32_t begin, std::uint32_t end) const {
    return nodes_[end].rows - nodes_[begin].rows + nodes_[begin].own_rows;
  }

 private:
  static sframe::FreAddressWidth fre_address_width_of_start(std::uint32_t largest) {
    return largest <= UINT8_MAX    ? sframe::FreAddressWidth::One
           : largest <= UINT16_MAX ? sframe::FreAddressWidth::Two
                                   : sframe::FreAddressWidth::Four;
  }

  /// Sums over all rows before the cut that repeat nothing, in all runs.
  struct Node {
    std::uint32_t rows = 0, plain = 0, flexible = 0, only_flexible = 0;
    std::uint32_t offset = 0;      ///< of the cut, from the start of its run
    std::uint32_t row_before = 0;  ///< of the last row before the cut that repeats nothing: from the start of its run
    /// What the row at the cut takes where a block begins with it though it repeats the one before; else 0.
    std::uint8_t own_rows = 0, own_plain = 0, own_flexible = 0, own_only_flexible = 0;
  };

  std::uint32_t attribute_size_;
  std::vector<Node> nodes_;  ///< one a cut, and one behind the last
};

}  // namespace sframe_gen::emit::compact
