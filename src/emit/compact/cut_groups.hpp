#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emit/compact/part_hashes.hpp"
#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// A cut where a block of two or more rows begins.
struct CutStart {
  std::uint32_t cut;
  PartHashes::Root root;
};

/// The cuts by what the first two rows behind them are. No block of two or more rows is in two groups, so several
/// threads can look for what is equal; and there are so many groups that what is known of one fits into a core's own
/// memory.
class CutGroups {
 public:
  CutGroups(std::span<const Stretch> stretches, const PartHashes& hashes, std::size_t workers);

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
