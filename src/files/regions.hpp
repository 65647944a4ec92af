#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/byte_chunks.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// The number of bytes that are read or written at once: a processor's own cache holds them, and other threads that
/// write to the file get their turn in between.
inline constexpr std::size_t most_at_once = std::size_t{1} << 18;

/// Part of an output: `size` bytes at `offset`, all from one source.
struct Region {
  enum class Source : std::uint8_t { Hole, Input, Bytes };

  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  Source source = Source::Hole;
  std::uint64_t from = 0;            ///< offset in the input, of Source::Input
  const std::byte* bytes = nullptr;  ///< of Source::Bytes

  std::uint64_t end() const { return offset + size; }
  /// Returns what lies in [begin, end) of the output; its size is 0 if nothing does.
  Region part(std::uint64_t begin, std::uint64_t end) const;
  /// Returns the bytes, where `input` is the whole input: none for a hole. Throws std::out_of_range.
  std::span<const std::byte> contents(std::span<const std::byte> input) const;
};

/// An output that is made from an input: regions in order, each of which begins where the one before it ends. What is
/// put later replaces what was there before.
class Regions {
 public:
  /// The output is one hole at first.
  explicit Regions(std::uint64_t size = 0) { put({0, size}); }
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;
  Regions(Regions&&) = default;
  Regions& operator=(Regions&&) = default;

  std::uint64_t size() const { return regions_.empty() ? 0 : regions_.rbegin()->first; }

  /// Each of these lets the output grow if the region ends after it.
  void put_hole(std::uint64_t offset, std::uint64_t size) { put({offset, size}); }
  void put_input(std::uint64_t offset, std::uint64_t from, std::uint64_t size) {
    put({offset, size, Region::Source::Input, from});
  }
  void put_bytes(std::uint64_t offset, std::vector<std::byte> bytes);
  void put_bytes(std::uint64_t offset, ByteChunks bytes);

  /// The regions, clipped to [begin, end). Their bytes stay valid as long as this object, even if it changes.
  std::vector<Region> part(std::uint64_t begin, std::uint64_t end) const;
  std::vector<Region> all() const { return part(0, size()); }

  /// Returns [begin, end) of the output, which need not be written yet. What lies past its end is zero.
  std::vector<std::byte> bytes(std::uint64_t begin, std::uint64_t end, std::span<const std::byte> input) const;

 private:
  void put(const Region& region);
  void insert(const Region& region) {
    if (region.size != 0) regions_.emplace(region.end(), region);
  }

  std::map<std::uint64_t, Region> regions_;  ///< by their end
  std::vector<std::vector<std::byte>> stored_;
  ByteChunks stored_chunks_;
};

/// Writes regions to a file. Blocks are shared with the input where the file system can, and holes stay holes. All
/// members throw SystemFailure.
class RegionWriter {
 public:
  /// `name` is the output's, for messages.
  RegionWriter(const MappedFile& input, int output, const std::string& name)
      : input_(input), output_(output), name_(name) {}

  /// Writes `regions`, which are in order. The output already has its first `early_size` bytes, as they are in the
  /// input: holes there are filled with zeros.
  void write(std::span<const Region> regions, std::uint64_t early_size = 0);

  /// Shares as many whole blocks at the start of a region of the input as it has, and returns how many bytes that is:
  /// 0 where the file system cannot.
  std::uint64_t share(const Region& region);

 private:
  void add(std::uint64_t offset, std::span<const std::byte> bytes);
  void add_zeros(std::uint64_t offset, std::uint64_t size);
  void add_hole(std::uint64_t offset, std::uint64_t size);
  void flush();
  void copy(Region region);
  void copy_stored(Region region);
  std::uint64_t copy_in_kernel(const Region& region);
  std::uint64_t copy_piece(const Region& region);
  [[noreturn]] void fail(int error_number) const;

  const MappedFile& input_;
  int output_;
  const std::string& name_;
  bool kernel_copies_ = true;
  bool can_share_ = true;
  std::uint64_t early_size_ = 0;  ///< as write() got it
  std::vector<iovec> list_;       ///< bytes that follow each other, not written yet
  std::uint64_t list_begin_ = 0;  ///< in the output
  std::uint64_t list_end_ = 0;
  std::unique_ptr<std::byte[]> buffer_;  ///< for bytes of the input
};

/// Throws SystemFailure.
void resize(int file, std::uint64_t size, const std::string& name);

/// Fills the empty file `output` with all regions.
void write_regions(const Regions& regions, const MappedFile& input, int output, const std::string& name);

}  // namespace sframe_gen::files
