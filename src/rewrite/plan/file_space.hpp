#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"

namespace sframe_gen::rewrite {

/// `bytes` bytes put in front of what stood at file offset `at`.
struct Insertion {
  std::uint64_t at;
  std::uint64_t bytes;
  friend bool operator==(const Insertion&, const Insertion&) = default;
};

/// Maps file offsets of the input to those of the output, by a shift that grows at each insertion.
///
///     input   aaaa|bbbbbbb|cc          insertions at | of 4 and 2 bytes
///     output  aaaa....bbbbbbb..cc
class OffsetMap {
 public:
  void insert(Insertion insertion);
  std::uint64_t operator()(std::uint64_t offset) const;
  /// Sorted by `at`.
  const std::vector<Insertion>& insertions() const { return insertions_; }

 private:
  std::vector<Insertion> insertions_;
};

/// A header that says "these bytes of the file are mine".
struct FileClaim {
  Range range;
  elf::Owner owner;
  bool is_load = false;
};

/// The bytes of the file that become the section's contents in memory. Of .bss: those that a PT_LOAD brings to its
/// addresses, which are zero; empty where that is nothing but memory.
Range file_bytes_under(const elf::Image& image, const elf::Section& section);

/// Tracks the owner of each byte of the input file. The input must outlive this.
///
/// A PT_LOAD that covers the ELF header or the program headers claims nothing: what it holds are sections. All other
/// PT_LOADs claim their bytes. A PT_GNU_SFRAME claims nothing, since it will be rewritten, PT_GNU_RELRO nothing, since
/// it describes bytes of a PT_LOAD, and a stale PT_GNU_PROPERTY nothing, since its note is elsewhere. Released bytes
/// are free and count as zero, whatever the input has there: they are not copied to the output.
class FileSpace {
 public:
  explicit FileSpace(const elf::Image& image);

  /// Drops the claims that lie inside `range`, and the part of a PT_LOAD's claim that ends with it.
  void release(Range range);

  /// The first claim that ends after `offset`, by its beginning.
  const FileClaim* next_claim(std::uint64_t offset) const;
  /// A claim that `offset` would split.
  const FileClaim* claim_across(std::uint64_t offset) const;
  /// Whether the bytes are zero or released. Bytes past the end of the file are.
  bool is_zero(Range range) const;
  /// Whether the bytes are zero, released, or X, which patchelf writes where something stood that it moved.
  bool is_filler(Range range) const;
  /// End of the last byte that has to be kept.
  std::uint64_t end() const;

  const std::vector<Range>& released() const { return released_; }

 private:
  template <typename Predicate>
  bool all_are(Range range, Predicate predicate) const;
  void claim(Range range, elf::Owner owner);

  const elf::Image* image_;
  std::vector<FileClaim> claims_;  ///< sorted by their beginning
  std::vector<Range> released_;    ///< sorted, may touch
  std::uint64_t header_segments_end_ = 0;
};

/// Whether most of `bytes` inserted for `needed` ones are a hole of a MiB and more, as in files linked for 2 MiB pages
/// (ld before 2.31, -z max-page-size).
bool is_wasteful(std::uint64_t bytes, std::uint64_t needed);

/// The PT_LOADs of the input, which may grow into the unused addresses after them.
///
///     addresses   [R......]....|[RX......]..|[RW...       | next page boundary: another PT_LOAD's page starts here
///                         ^ take() hands these out, first come, first served
///     file        [R......][RX......]...                  where the file has no gap there, bytes are inserted
class LoadGrowth {
 public:
  /// `replaced` names the section whose old addresses are free.
  LoadGrowth(const elf::Image& image, std::string_view replaced);

  /// `layout_page`: what addresses and file offsets have to agree in.
  std::uint64_t page() const { return page_; }
  /// The program headers with their new sizes, still at the file offsets of the input.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  /// First file offset after what `load` had to keep of the input.
  std::uint64_t kept_end(std::size_t load) const;

  /// Gives up the last bytes of a PT_LOAD, from `address` on.
  void shrink(std::size_t load, std::uint64_t address);
  /// An address past the end of `load`, if it is read-only and has the room.
  std::optional<std::uint64_t> take(std::size_t load, std::uint64_t size, std::uint64_t alignment);

  /// Plans file bytes for everything taken; sets `wastes` where an insertion is_wasteful. Returns why it does not work.
  std::optional<std::string> make_file_room(const FileSpace& space, OffsetMap& map, bool& wastes) const;

  /// First multiple of the page above every PT_LOAD.
  std::uint64_t address_above() const;

 private:
  std::uint64_t address_limit(std::size_t load) const;
  std::uint64_t insertion_unit(std::uint64_t at) const;

  const elf::Image* image_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<std::uint64_t> kept_size_;  ///< bytes of the input, by segment
  std::string_view replaced_;
  std::uint64_t page_;
};

}  // namespace sframe_gen::rewrite
