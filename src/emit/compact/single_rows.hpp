#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/row_hashes.hpp"
#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// What is found out about blocks that occur more than once, by identifier.
struct Findings {
  std::vector<std::uint32_t> occurrences, bytes;

  std::uint32_t add(std::uint32_t size) {
    occurrences.push_back(0);
    bytes.push_back(size);
    return static_cast<std::uint32_t>(bytes.size() - 1);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(bytes.size()); }
};

/// Blocks of a single row that occur more than once: there are few, and many places begin with them.
class SingleRows {
 public:
  SingleRows(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes, std::size_t workers);

  static constexpr std::uint32_t none = UINT32_MAX;
  /// The identifier of the block of one row at the cut, or none if there is no other.
  std::uint32_t at(const Sequence& sequence, std::size_t run, std::uint32_t cut) const {
    return identifiers_[kind_of(sequence, run, cut)];
  }
  const Findings& findings() const { return findings_; }

 private:
  static std::size_t kind_of(const Sequence& sequence, std::size_t run, std::uint32_t cut) {
    const Run& properties = sequence.runs[run];
    const std::size_t rule = sequence.rows[sequence.cuts[cut].row].rule;
    return rule * 4 + (properties.signal_frame ? 2 : 0) + (properties.b_key ? 1 : 0);
  }

  std::vector<std::uint32_t> identifiers_;  ///< by kind
  Findings findings_;
};

}  // namespace sframe_gen::emit::compact
