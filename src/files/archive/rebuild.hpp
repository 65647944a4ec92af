#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "files/archive/archive.hpp"

namespace sframe_gen::files::archive {

/// An archive as pieces of the old one and new ones in turn, to be written one after the other.
class Rebuilt {
 public:
  const std::vector<std::span<const std::byte>>& pieces() const { return pieces_; }
  std::uint64_t size() const { return size_; }
  /// Whether every byte is as it was.
  bool is_unchanged() const { return changes_ == 0; }
  /// Members with other bytes, or in thin archives another size.
  std::uint64_t changes() const { return changes_; }

 private:
  friend class Rebuilder;
  std::vector<std::span<const std::byte>> pieces_;
  std::deque<std::vector<std::byte>> made_;  ///< what pieces point to and neither archive nor members hold
  std::uint64_t size_ = 0, changes_ = 0;
};

/// New bytes of a member by its place in `members()`.
using NewContents = std::map<std::size_t, std::span<const std::byte>>;
/// New sizes of the files of a thin archive.
using NewSizes = std::map<std::size_t, std::uint64_t>;

/// `archive` with some members' bytes replaced. Their headers keep name, date, owner and mode; the index leads to where
/// the members are then; all else is byte for byte as it was. The result points into both arguments. Throws Refused
/// when a size or an offset does not fit its field, or an index in BSD's form would have to change.
Rebuilt rebuild(const Archive& archive, const NewContents& contents);

/// The thin `archive` with the sizes of some members' files set: no offset changes.
Rebuilt resize(const Archive& archive, const NewSizes& sizes);

}  // namespace sframe_gen::files::archive
