#include "files/regions.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "files/stored_bytes.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

namespace {

/// A smaller part of the input is written from its mapping: telling the kernel to copy it takes longer.
constexpr std::uint64_t smallest_copy = std::uint64_t{1} << 19;

/// No file system stores less than a block of this size: a shorter hole saves nothing.
constexpr std::uint64_t smallest_hole = 512;

constexpr std::array<std::byte, 4096> zeros{};

off_t offset_of(std::uint64_t value) {
  return static_cast<off_t>(value);
}

/// Returns what is left of the list after `done` bytes.
std::span<iovec> left_of(std::span<iovec> list, std::size_t done) {
  while (!list.empty() && list.front().iov_len <= done) {
    done -= list.front().iov_len;
    list = list.subspan(1);
  }
  if (done == 0) return list;
  list.front().iov_base = static_cast<std::byte*>(list.front().iov_base) + done;
  list.front().iov_len -= done;
  return list;
}

}  // namespace

Region Region::part(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first = std::max(offset, begin), last = std::min(this->end(), end);
  if (first >= last) return {};
  Region part{first, last - first, source};
  if (source == Source::Input) part.from = from + (first - offset);
  if (source == Source::Bytes) part.bytes = bytes + (first - offset);
  return part;
}

std::span<const std::byte> Region::contents(std::span<const std::byte> input) const {
  if (source == Source::Hole) return {};
  if (source == Source::Bytes) return {bytes, size};
  if (from > input.size() || size > input.size() - from) throw std::out_of_range("a region is outside the input");
  return input.subspan(from, size);
}

void Regions::put_bytes(std::uint64_t offset, std::vector<std::byte> bytes) {
  put({offset, bytes.size(), Region::Source::Bytes, 0, bytes.data()});
  stored_.push_back(std::move(bytes));
}

void Regions::put_bytes(std::uint64_t offset, ByteChunks bytes) {
  bytes.for_each_chunk([&](std::span<const std::byte> chunk) {
    put({offset, chunk.size(), Region::Source::Bytes, 0, chunk.data()});
    offset += chunk.size();
  });
  stored_chunks_.append(std::move(bytes));
}

void Regions::put(const Region& region) {
  if (region.size == 0) return;
  if (const std::uint64_t end = size(); end < region.offset) insert({end, region.offset - end});
  for (auto next = regions_.upper_bound(region.offset); next != regions_.end() && next->second.offset < region.end();) {
    const Region before = next->second;
    next = regions_.erase(next);
    insert(before.part(before.offset, region.offset));
    insert(before.part(region.end(), before.end()));
  }
  insert(region);
}

std::vector<Region> Regions::part(std::uint64_t begin, std::uint64_t end) const {
  std::vector<Region> part;
  if (begin >= end) return part;
  for (auto next = regions_.upper_bound(begin); next != regions_.end() && next->second.offset < end; ++next)
    part.push_back(next->second.part(begin, end));
  return part;
}

std::vector<std::byte> Regions::bytes(std::uint64_t begin, std::uint64_t end, std::span<const std::byte> input) const {
  std::vector<std::byte> bytes(end - begin);
  for (const Region& region : part(begin, end)) {
    const std::span<const std::byte> contents = region.contents(input);
    if (!contents.empty()) std::memcpy(bytes.data() + (region.offset - begin), contents.data(), contents.size());
  }
  return bytes;
}

void RegionWriter::write(std::span<const Region> regions, std::uint64_t early_size) {
  early_size_ = early_size;
  for (const Region& region : regions) {
    switch (region.source) {
      case Region::Source::Hole:
        add_hole(region.offset, region.size);
        break;
      case Region::Source::Input:
        copy(region.from == region.offset ? region.part(early_size, region.end()) : region);
        break;
      case Region::Source::Bytes:
        add(region.offset, {region.bytes, region.size});
        break;
    }
  }
  flush();
}

void RegionWriter::add(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset != list_end_) {
    flush();
    list_begin_ = list_end_ = offset;
  }
  while (!bytes.empty()) {
    if (list_.size() == IOV_MAX || list_end_ - list_begin_ == most_at_once) flush();
    const auto now = bytes.first(std::min<std::size_t>(bytes.size(), most_at_once - (list_end_ - list_begin_)));
    list_.push_back({const_cast<std::byte*>(now.data()), now.size()});
    list_end_ += now.size();
    bytes = bytes.subspan(now.size());
  }
}

void RegionWriter::add_zeros(std::uint64_t offset, std::uint64_t size) {
  for (std::uint64_t done = 0; done < size; done += zeros.size())
    add(offset + done, std::span(zeros).first(std::min<std::uint64_t>(size - done, zeros.size())));
}

void RegionWriter::add_hole(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t cleared = std::clamp(early_size_, offset, offset + size) - offset;
  add_zeros(offset, size - cleared < smallest_hole ? size : cleared);
}

void RegionWriter::flush() {
  for (std::span<iovec> left(list_); !left.empty();) {
    const ssize_t done = ::pwritev(output_, left.data(), static_cast<int>(left.size()), offset_of(list_begin_));
    if (done < 0 && errno == EINTR) continue;
    // EFAULT: from a mapping whose file has become shorter.
    if (done <= 0) fail(done < 0 && errno != EFAULT ? errno : EIO);
    list_begin_ += static_cast<std::uint64_t>(done);
    left = left_of(left, static_cast<std::size_t>(done));
  }
  list_.clear();
}

void RegionWriter::copy(Region region) {
  // To ask the file system for holes takes longer than to write a few bytes.
  if (region.size < smallest_hole) return copy_stored(region);
  while (region.size != 0) {
    const Range stored = next_stored(input_.descriptor(), region.from, region.from + region.size);
    const std::uint64_t begin = region.offset + (stored.begin - region.from);
    const std::uint64_t end = region.offset + (stored.end - region.from);
    add_hole(region.offset, begin - region.offset);
    copy_stored(region.part(begin, end));
    region = region.part(end, region.end());
  }
}

void RegionWriter::copy_stored(Region region) {
  const auto skip = [&](std::uint64_t size) { region = region.part(region.offset + size, region.end()); };
  skip(share(region));
  if (region.size < smallest_copy && region.from + region.size <= input_.bytes().size())
    return add(region.offset, region.contents(input_.bytes()));
  flush();
  while (region.size != 0) skip(kernel_copies_ ? copy_in_kernel(region) : copy_piece(region));
}

std::uint64_t RegionWriter::share(const Region& region) {
  constexpr std::uint64_t least = 4096;  // no file system that shares has smaller blocks
  if (!can_share_ || region.from % least != 0 || region.offset % least != 0 || region.size < least) return 0;
  struct stat status {};
  if (::fstat(input_.descriptor(), &status) != 0 || status.st_blksize <= 0) return 0;
  file_clone_range range{};
  range.src_fd = input_.descriptor();
  range.src_offset = region.from;
  range.src_length = region.size - region.size % static_cast<std::uint64_t>(status.st_blksize);
  range.dest_offset = region.offset;
  // A length of 0 would share all up to the end.
  if (range.src_length == 0) return 0;
  can_share_ = ::ioctl(output_, FICLONERANGE, &range) == 0;
  return can_share_ ? range.src_length : 0;
}

std::uint64_t RegionWriter::copy_in_kernel(const Region& region) {
  off64_t from = offset_of(region.from);
  off64_t to = offset_of(region.offset);
  const ssize_t done = ::copy_file_range(input_.descriptor(), &from, output_, &to, region.size, 0);
  // EXDEV, EOPNOTSUPP, ENOSYS, EINVAL, and 0 on some file systems before Linux 5.19: the plain way tells whether there
  // is a real error.
  if (done <= 0) kernel_copies_ = false;
  return done > 0 ? static_cast<std::uint64_t>(done) : 0;
}

std::uint64_t RegionWriter::copy_piece(const Region& region) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(most_at_once);
  const auto piece =
      read_piece(input_.descriptor(), region.from, {buffer_.get(), std::min<std::uint64_t>(region.size, most_at_once)});
  if (piece.empty()) throw SystemFailure(input_.name(), "read", errno != 0 ? errno : EIO);
  add(region.offset, piece);
  flush();
  return piece.size();
}

void RegionWriter::fail(int error_number) const {
  throw SystemFailure(name_, "write", error_number);
}

void resize(int file, std::uint64_t size, const std::string& name) {
  if (::ftruncate(file, offset_of(size)) != 0) throw SystemFailure(name, "write", errno);
}

void write_regions(const Regions& regions, const MappedFile& input, int output, const std::string& name) {
  RegionWriter(input, output, name).write(regions.all());
  resize(output, regions.size(), name);
}

}  // namespace sframe_gen::files
