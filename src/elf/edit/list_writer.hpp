#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sframe_gen::elf {

/// Hands bytes that stand one behind the other in a file to the kernel in one list: a page that two calls write to is
/// looked up twice, and pages come in larger blocks where the kernel knows of more.
class ListWriter {
 public:
  /// `most`: bytes at once, after which another thread that writes to the file gets its turn.
  ListWriter(int output, const std::string& name, std::uint64_t most = UINT64_MAX)
      : output_(output), name_(name), most_(most) {}

  /// `bytes` stay as they are up to the next flush(). Throws SystemFailure, as that does.
  void add(std::uint64_t begin, std::span<const std::byte> bytes);
  void flush();

  /// Where the list ends, in the file.
  std::uint64_t end() const { return end_; }

 private:
  int output_;
  const std::string& name_;
  std::uint64_t most_;
  std::vector<iovec> list_;
  std::uint64_t size_ = 0;  ///< of the list
  std::uint64_t end_ = 0;
};

}  // namespace sframe_gen::elf
