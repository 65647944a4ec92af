#include "elf/edit/list_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// What is left of the list where so many bytes are written.
std::span<iovec> behind(std::span<iovec> list, std::size_t done) {
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

void ListWriter::add(std::uint64_t begin, std::span<const std::byte> bytes) {
  if (begin != end_) flush();
  end_ = begin;
  while (!bytes.empty()) {
    if (list_.size() == IOV_MAX || size_ == most_) flush();
    const auto now = bytes.first(std::min<std::uint64_t>(bytes.size(), most_ - size_));
    list_.push_back({const_cast<std::byte*>(now.data()), now.size()});
    size_ += now.size();
    end_ += now.size();
    bytes = bytes.subspan(now.size());
  }
}

void ListWriter::flush() {
  std::uint64_t at = end_ - size_;
  for (std::span<iovec> rest(list_); !rest.empty();) {
    const ssize_t done = ::pwritev(output_, rest.data(), static_cast<int>(rest.size()), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    // EFAULT: from a mapping whose file has become shorter.
    if (done <= 0) throw SystemFailure(name_, "write", done < 0 && errno != EFAULT ? errno : EIO);
    at += static_cast<std::uint64_t>(done);
    rest = behind(rest, static_cast<std::size_t>(done));
  }
  list_.clear();
  size_ = 0;
}

}  // namespace sframe_gen::elf
