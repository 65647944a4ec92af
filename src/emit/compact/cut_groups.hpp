#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emit/compact/row_hashes.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/compact/single_rows.hpp"

namespace sframe_gen::emit::compact {

/// What begins at a cut.
struct CutStart {
  RowHashes::Begin begin;
  std::uint32_t end_of_stretch;  ///< the cut that no block reaches over
  std::uint32_t single;          ///< the block of one row, if that is the shortest, or SingleRows::none
};

/// The cuts by what the first two rows behind them are; ascending in each group. No block of two or more rows is in two
/// groups, so several threads can look for what is equal; and there are so many groups that what is known of one fits
/// into a core's own memory.
class CutGroups {
 public:
  CutGroups(const Sequence& sequence, const RowHashes& hashes, const SingleRows& singles, std::size_t workers);

  /// A CutStart::single that is nowhere else.
  static constexpr std::uint32_t lonely = SingleRows::none - 1;

  std::size_t size() const { return ends_.size(); }
  std::span<const CutStart> operator[](std::size_t group) const {
    const std::uint32_t begin = group == 0 ? 0 : ends_[group - 1];
    return {starts_.get() + begin, ends_[group] - begin};
  }

 private:
  std::unique_ptr<CutStart[]> starts_;
  std::vector<std::uint32_t> ends_;  ///< by group
};

}  // namespace sframe_gen::emit::compact
