#include "files/archive/rebuild.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <limits>
#include <utility>

#include "files/archive/archive.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::files::archive {

namespace {

std::vector<std::byte> size_field(std::uint64_t size) {
  std::vector<std::byte> field(sizeof(MemberHeader::size), std::byte{' '});
  auto* const text = reinterpret_cast<char*>(field.data());
  const auto [end, error] = std::to_chars(text, text + field.size(), size);
  assert(error == std::errc());
  static_cast<void>(end);
  return field;
}

/// Returns the bytes of other offsets in the form of `index`. Throws Refused if one does not fit; `file` is for the
/// message.
std::vector<std::byte> index_bytes(const Index& index, std::span<const std::uint64_t> header_offsets,
                                   const std::string& file) {
  ByteWriter writer(Endian::Big);
  writer.reserve(header_offsets.size() * index.number_size());
  for (const std::uint64_t offset : header_offsets) {
    if (index.kind == Index::Kind::GnuWide) {
      writer.u64(offset);
      continue;
    }
    // Widening the index would move every member again. ranlib makes a 64-bit index first.
    if (offset > std::numeric_limits<std::uint32_t>::max())
      throw Refused(file, "would grow beyond 4 GiB, which the 32-bit offsets of its symbol index cannot address");
    writer.u32(static_cast<std::uint32_t>(offset));
  }
  return writer.release();
}

constexpr std::byte padding[] = {std::byte{'\n'}};

}  // namespace

/// Copies the old archive front to back, with the changes in between.
class Rebuilder {
 public:
  explicit Rebuilder(const Archive& archive) : archive_(archive) {}

  void set_size(const Member& member, std::uint64_t size) {
    if (size > largest_member - member.name_size)
      throw Refused(archive_.name_of(member), "too large for the ten digits of its size in an archive");
    changes_.push_back({member.size_offset, sizeof(MemberHeader::size), {keep(size_field(member.name_size + size))}});
    ++result_.changes_;
  }

  void set_contents(const Member& member, std::span<const std::byte> contents) {
    set_size(member, contents.size());
    const std::uint64_t old_size = member.end - member.data_offset;
    Change change{member.data_offset, old_size, {contents}};
    const bool odd = ((member.data_offset + contents.size()) & 1U) != 0;
    if (odd) change.pieces.emplace_back(padding);
    changes_.push_back(std::move(change));
    // An archive that ends without its last padding gets it here, so that members always start at even offsets.
    const auto growth = static_cast<std::int64_t>(contents.size() + (odd ? 1 : 0) - old_size);
    growths_.push_back({member.end, growth + (growths_.empty() ? 0 : growths_.back().bytes)});
  }

  void move_index() {
    const auto& index = archive_.index();
    if (!index || growths_.empty()) return;
    if (index->kind == Index::Kind::Bsd) throw Refused(archive_.file(), "symbol index of BSD's form (run GNU ranlib)");
    std::vector<std::uint64_t> offsets(index->header_offsets.size());
    std::transform(index->header_offsets.begin(), index->header_offsets.end(), offsets.begin(),
                   [&](std::uint64_t offset) { return new_offset(offset); });
    std::vector<std::byte> bytes = index_bytes(*index, offsets, archive_.file());
    const std::uint64_t size = bytes.size();
    // It stands before all members.
    changes_.insert(changes_.begin(), {index->offsets_at, size, {keep(std::move(bytes))}});
  }

  Rebuilt finish() {
    std::uint64_t done = 0;
    for (const Change& change : changes_) {
      append(archive_.bytes().subspan(done, change.offset - done));
      for (const auto piece : change.pieces) append(piece);
      done = change.offset + change.old_size;
    }
    append(archive_.bytes().subspan(done));
    return std::move(result_);
  }

 private:
  struct Change {
    std::uint64_t offset, old_size;  ///< in the old archive
    std::vector<std::span<const std::byte>> pieces;
  };
  struct Growth {
    std::uint64_t from;  ///< this offset of the old archive on
    std::int64_t bytes;  ///< all in all
  };

  std::span<const std::byte> keep(std::vector<std::byte> bytes) { return result_.made_.emplace_back(std::move(bytes)); }

  std::uint64_t new_offset(std::uint64_t offset) const {
    const auto after = std::upper_bound(growths_.begin(), growths_.end(), offset,
                                        [](std::uint64_t o, const Growth& growth) { return o < growth.from; });
    return after == growths_.begin() ? offset : offset + static_cast<std::uint64_t>(std::prev(after)->bytes);
  }

  void append(std::span<const std::byte> piece) {
    if (piece.empty()) return;
    result_.pieces_.push_back(piece);
    result_.size_ += piece.size();
  }

  const Archive& archive_;
  std::vector<Change> changes_;
  std::vector<Growth> growths_;  ///< sorted
  Rebuilt result_;
};

Rebuilt rebuild(const Archive& archive, const NewContents& contents) {
  assert(!archive.is_thin());
  Rebuilder rebuilder(archive);
  for (const auto& [place, bytes] : contents) {
    const Member& member = archive.members().at(place);
    const auto old = archive.data_of(member);
    if (!equal_bytes(old, bytes)) rebuilder.set_contents(member, bytes);
  }
  rebuilder.move_index();
  return rebuilder.finish();
}

Rebuilt resize(const Archive& archive, const NewSizes& sizes) {
  assert(archive.is_thin());
  Rebuilder rebuilder(archive);
  for (const auto& [place, size] : sizes) {
    const Member& member = archive.members().at(place);
    if (member.size != size) rebuilder.set_size(member, size);
  }
  return rebuilder.finish();
}

}  // namespace sframe_gen::files::archive
