#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sframe_gen::files {

/// An open file's bytes for one pass over many of them: where the page cache has them, not copied, and let go soon, so
/// that a large file takes no more memory than a small one.
class FilePieces {
 public:
  /// As many as stay in a processor's own cache for whoever looks at them next. A write of fewer takes longer: the file
  /// system makes folios as large as what it gets at once.
  static constexpr std::size_t most = std::size_t{1} << 18;

  /// What becomes of a piece first. A system call can say that bytes cannot be read; whoever looks at them would end.
  enum class For : std::uint8_t { Looking, SystemCalls };

  explicit FilePieces(int descriptor, For use = For::Looking);
  ~FilePieces();
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;
  FilePieces(FilePieces&&) = delete;
  FilePieces& operator=(FilePieces&&) = delete;

  /// The bytes from `from` on, at most `wanted`, until the next call. None: there are none (then errno is 0), or they
  /// cannot be read, as errno says.
  std::span<const std::byte> piece(std::uint64_t from, std::uint64_t wanted);

 private:
  bool hold(std::uint64_t from, std::uint64_t wanted);
  bool make_readable(std::uint64_t begin, std::uint64_t end) const;
  std::span<const std::byte> read(std::uint64_t from, std::size_t size);
  void let_go();

  int descriptor_;
  For use_;
  std::span<std::byte> mapping_;                 ///< of the whole file; empty: what is asked for is read
  std::uint64_t held_begin_ = 0, held_end_ = 0;  ///< what of it is in memory, from the start of a page on
  std::vector<std::byte> buffer_;
};

}  // namespace sframe_gen::files
