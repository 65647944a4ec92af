#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "emit/dialect.hpp"
#include "emit/encoded_rules.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_chunks.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::emit {

/// Whether [begin, end), the bytes between two functions, is padding. One thread calls it, for ascending gaps.
using IsPadding = std::function<bool(std::uint64_t begin, std::uint64_t end)>;

/// Builds the bytes of a section, function by function, the way GNU as chooses widths and every reader accepts:
///
///   header: sorted, starts pc-relative as the dialect says, no auxiliary header
///   one index entry (version 3) or descriptor (earlier versions) a function, ascending by start
///   rows of each function, in the same order, directly after them; in version 3 with the function's attribute in front
///
/// Functions come in ascending order and do not overlap. Their bytes do not depend on the section's address; only
/// the starts do, so the size is known before the place.
class SectionEncoder {
 public:
  /// A function without its rows.
  struct Descriptor {
    std::uint64_t start;
    std::uint32_t size;
    std::uint32_t fres_offset;  ///< of the attribute in version 3, else of the first row
    std::uint32_t fre_count;
    sframe::FdeInfo info;
    std::uint8_t repeat_size;
  };

  explicit SectionEncoder(const Dialect& dialect);
  /// Constructs the encoder with rows that are bytes already, and descriptors that may share them. The descriptors are
  /// ascending and do not overlap.
  SectionEncoder(const Dialect& dialect, std::vector<Descriptor> fdes, ByteChunks fres);

  /// `fde` has at least one row and at most the dialect's largest count; a row's offset is below the function's
  /// size. Throws std::length_error when the row sub-section would pass 4 GiB.
  void add(const FdeRows& fde, const EncodedRules& encoded_rules);

  /// So many functions are about to come. To guess too low costs time, too high next to nothing: memory is taken when
  /// it is written to.
  void expect(std::size_t functions) { fdes_.reserve(functions); }

  /// Adds all functions of `other`, which come after this one's.
  void append(SectionEncoder&& other);

  /// Lets functions go on to the last byte before the next one, or over it if it is the only one, where the bytes
  /// between them are padding. Code that repeats and signal frames stay as they are: no call ends them. The bytes of
  /// rows are the same. Several threads call `new_is_padding`.
  void extend_over_padding(const std::function<IsPadding()>& new_is_padding);
  /// Adds functions without bytes and rows, in version 3: a reader that looks for a PC after `starts` and before the
  /// next function finds that there is no row. `starts` are ascending, and no function's.
  void add_without_rows(std::span<const std::uint64_t> starts);

  bool splits_descriptor() const { return dialect_.version->splits_descriptor; }
  std::span<const Descriptor> descriptors() const { return fdes_; }
  std::uint64_t fde_count() const { return fdes_.size(); }
  std::uint64_t fre_count() const { return fre_count_; }
  /// Bytes of the whole section.
  std::uint64_t encoded_size() const;
  /// The section's bytes for a section at virtual address `section_address`. Throws std::range_error where the starts
  /// of the version, of 32 or 64 bits with a sign, cannot reach a function.
  std::vector<std::byte> encode(std::uint64_t section_address) const;
  /// The same in chunks. Rows are taken from here: call it last.
  ByteChunks release(std::uint64_t section_address);

  /// Virtual addresses of the functions, in the order they were added.
  std::vector<std::uint64_t> starts() const;
  /// The section's bytes for an object: functions in `order` (indices into `starts()`, each once), not sorted, and all
  /// starts 0, for the linker to fill in. The i-th start stands at `start_field(i)`. Not for CTF Frame, which no linker
  /// knows, and not after `add_without_rows`, whose rows' offsets are not in the functions' order.
  std::vector<std::byte> encode_for_object(std::span<const std::size_t> order) const;
  /// Bytes from the start of the section.
  std::uint64_t start_field(std::size_t index) const;

 private:
  void add_descriptor(const FdeRows& fde);
  void append_attribute(sframe::FdeType type);
  void check_limits() const;
  ByteChunks index(std::uint64_t section_address) const;
  void write_header(ByteWriter& writer, std::uint8_t flags) const;
  std::uint8_t start_flag() const;
  template <typename AnyCursor>
  void write_rest(AnyCursor& cursor, const Descriptor& entry) const;
  static std::uint64_t distance(std::uint64_t start, std::uint64_t base);
  std::uint32_t reach(std::uint64_t start, std::uint64_t base) const;

  Dialect dialect_;
  ByteChunks fres_;
  std::vector<Descriptor> fdes_;
  std::uint64_t fre_count_ = 0;
  bool fres_are_shared_ = false;  ///< or might be
};

/// Writes the attribute that version 3 has before a function's rows to a place with room for it, and returns its end.
/// Other versions have none.
std::byte* put_attribute(const SectionEncoder::Descriptor& entry, sframe::FdeType type, const Dialect& dialect,
                         std::byte* place);

}  // namespace sframe_gen::emit
