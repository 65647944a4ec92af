#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sframe_gen::files {

/// An open file's bytes for one pass over many of them, in memory that is used again for each piece.
class FilePieces {
 public:
  /// As many as stay in a processor's own cache for whoever looks at them next: in little memory, as the first use of a
  /// page takes longer than to read what it holds; or as much as a write wants at once, since the file system makes
  /// folios as large as what it gets.
  static constexpr std::size_t for_a_look = std::size_t{1} << 15, for_a_write = std::size_t{1} << 18;

  explicit FilePieces(int descriptor, std::size_t most = for_a_look) : descriptor_(descriptor), most_(most) {}

  /// The bytes from `from` on, at most `wanted`, until the next call. None: there are none (then errno is 0), or they
  /// cannot be read, as errno says.
  std::span<const std::byte> piece(std::uint64_t from, std::uint64_t wanted);

 private:
  class Buffer {
   public:
    explicit Buffer(std::size_t size);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* place() const { return static_cast<std::byte*>(place_); }
    std::size_t size() const { return size_; }

   private:
    void* place_;
    std::size_t size_;
  };

  int descriptor_;
  std::size_t most_;
  std::optional<Buffer> buffer_;
};

}  // namespace sframe_gen::files
