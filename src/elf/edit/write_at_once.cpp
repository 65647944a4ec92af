#include "elf/edit/write_at_once.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "files/stored_range.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// No file system stores less than a block of so many bytes: zeros of fewer take no more of the disk than a hole, where
/// bytes stand on both sides of them.
constexpr std::uint64_t smallest_hole = 512;
constexpr std::array<std::byte, smallest_hole> zeros{};

/// What stands where. What is put later lies over what is there.
class Pieces {
 public:
  void put(std::uint64_t begin, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::uint64_t end = begin + bytes.size();
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.begin() && end_of(*std::prev(next)) > begin) --next;
    while (next != pieces_.end() && next->first < end) {
      const auto [below_begin, below] = *next;
      next = pieces_.erase(next);
      if (below_begin < begin) pieces_.emplace(below_begin, below.first(begin - below_begin));
      if (below_begin + below.size() > end) pieces_.emplace(end, below.subspan(end - below_begin));
    }
    pieces_.emplace(begin, bytes);
  }

  const auto& in_order() const { return pieces_; }

 private:
  using Piece = std::pair<const std::uint64_t, std::span<const std::byte>>;
  static std::uint64_t end_of(const Piece& piece) { return piece.first + piece.second.size(); }

  std::map<std::uint64_t, std::span<const std::byte>> pieces_;
};

Pieces pieces_of(const FileImage& contents, std::span<const std::byte> input) {
  Pieces pieces;
  for (const Copy& copy : contents.copies) pieces.put(copy.to, input.subspan(copy.from, copy.size));
  for (const Patch& patch : contents.patches) pieces.put(patch.offset, patch.bytes);
  return pieces;
}

/// Collects pieces that stand one behind the other.
class ListWriter {
 public:
  ListWriter(int output, const std::string& name) : output_(output), name_(name) {}

  void add(std::uint64_t begin, std::span<const std::byte> bytes) {
    const std::uint64_t gap = begin - end_;
    if (gap >= smallest_hole || list_.size() + 2 > most_pieces) {
      flush();
      end_ = begin;
    } else if (gap != 0) {
      append(std::span(zeros).first(gap));
    }
    append(bytes);
  }

  void flush() {
    std::uint64_t at = end_ - size_of_list();
    for (std::span<iovec> rest(list_); !rest.empty();) {
      const ssize_t done = ::pwritev(output_, rest.data(), static_cast<int>(rest.size()), static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      // EFAULT: from a mapping whose file has become shorter.
      if (done <= 0) throw SystemFailure(name_, "write", done < 0 && errno != EFAULT ? errno : EIO);
      at += static_cast<std::uint64_t>(done);
      rest = behind(rest, static_cast<std::size_t>(done));
    }
    list_.clear();
  }

  std::uint64_t end() const { return end_; }

 private:
  static constexpr std::size_t most_pieces = IOV_MAX;

  void append(std::span<const std::byte> bytes) {
    list_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size()});
    end_ += bytes.size();
  }

  std::uint64_t size_of_list() const {
    std::uint64_t size = 0;
    for (const iovec& piece : list_) size += piece.iov_len;
    return size;
  }

  /// What is left of the list where so many bytes are written.
  static std::span<iovec> behind(std::span<iovec> list, std::size_t done) {
    while (!list.empty() && list.front().iov_len <= done) {
      done -= list.front().iov_len;
      list = list.subspan(1);
    }
    if (done == 0) return list;
    list.front().iov_base = static_cast<std::byte*>(list.front().iov_base) + done;
    list.front().iov_len -= done;
    return list;
  }

  int output_;
  const std::string& name_;
  std::vector<iovec> list_;
  std::uint64_t end_ = 0;  ///< of the list, in the file
};

}  // namespace

bool can_be_written_at_once(const FileImage& contents, const MappedFile& input) {
  constexpr std::uint64_t most = 1 << 19;
  const std::uint64_t size = input.bytes().size();
  if (contents.size > most || size > most || contents.early_size != 0) return false;
  const bool is_there = std::ranges::all_of(
      contents.copies, [&](const Copy& copy) { return copy.from <= size && copy.size <= size - copy.from; });
  // Holes have to stay holes.
  const files::StoredRange stored = files::next_stored(input.descriptor(), 0, size);
  return is_there && stored.begin == 0 && stored.end == size;
}

void write_at_once(const FileImage& contents, const MappedFile& input, int output, const std::string& name) {
  const Pieces pieces = pieces_of(contents, input.bytes());
  ListWriter writer(output, name);
  for (const auto& [begin, bytes] : pieces.in_order()) writer.add(begin, bytes);
  writer.flush();
  if (writer.end() != contents.size && ::ftruncate(output, static_cast<off_t>(contents.size)) != 0)
    throw SystemFailure(name, "write", errno);
}

}  // namespace sframe_gen::elf
