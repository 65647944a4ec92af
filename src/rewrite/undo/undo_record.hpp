#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

/// What a converted file keeps so that `--remove` can restore the original, in an unloaded section after everything
/// else, or, where there are no section headers to name one, at the end of the file:
///
///     "SFU" 01    format of the record
///     digest      of the original, followed by what the converted file does not share with it
///     uleb128     size of the body
///     body        a zlib stream; its dictionary is what the converted file has in its headers and section names
///
/// The body, all numbers ULEB128, signed ones SLEB128:
///
///     count of pieces; each: literal bytes, where the copy begins less where the last one ended (signed), copied bytes
///     count of sections of the original; each: index in the converted file less that of the one before, less 1
///     (signed)
///     count of corrections; each: offset less the end of the one before, bytes
///     the literal bytes of all pieces, the bytes of all corrections
///
/// In a file without section headers, a trailer leads to it (elf/new_section.hpp).
namespace sframe_gen::rewrite {

/// The original is made of these in turn: literal bytes, then bytes of the converted file.
struct UndoPiece {
  std::uint64_t literals;
  std::uint64_t from;  ///< in the converted file
  std::uint64_t size;
  friend bool operator==(const UndoPiece&, const UndoPiece&) = default;
};

/// Bytes that are still wrong when pieces and section indices are restored.
struct UndoCorrection {
  std::uint64_t offset = 0;  ///< in the original
  std::vector<std::byte> bytes;
  friend bool operator==(const UndoCorrection&, const UndoCorrection&) = default;
};

struct UndoRecord {
  std::vector<UndoPiece> pieces;
  std::vector<std::byte> literals;
  std::vector<std::uint32_t> new_index_of;  ///< of a section, by its index in the original
  std::vector<UndoCorrection> corrections;
  friend bool operator==(const UndoRecord&, const UndoRecord&) = default;
};

/// A record is read before anything else of the file is checked, and may have been made to take time and memory: one
/// with more of these is damaged. Conversions of real files make some ten pieces, and a correction for each symbol in a
/// section that moves.
inline constexpr std::size_t most_undo_pieces = 4096, most_undo_corrections = std::size_t{1} << 18U;

/// Returns the record with a digest of zeros: its size is among the bytes that the digest covers. Nothing if
/// decode_undo() would not take it.
std::optional<std::vector<std::byte>> encode_undo(const UndoRecord& record, std::span<const std::byte> dictionary);

/// Returns the digest's place in those bytes.
std::span<std::byte> digest_of(std::vector<std::byte>& encoded);

struct DecodedUndo {
  UndoRecord record;
  Digest digest{};
};

/// Returns nothing if the dictionary is another, or the body impossibly large for its stream (compressed_section.hpp).
/// Throws Refused for a record of another format, MalformedInput for a
/// damaged one. Pieces and corrections are still to be checked against the file.
std::optional<DecodedUndo> decode_undo(std::span<const std::byte> bytes, std::span<const std::byte> dictionary,
                                       const InputOrigin& origin);

/// Returns a zlib stream (RFC 1950) of `bytes`. What `dictionary` has already, in its last 32 KiB, costs next to
/// nothing.
std::vector<std::byte> deflate(std::span<const std::byte> bytes, std::span<const std::byte> dictionary);

/// Returns the `size` bytes of such a stream. Nothing if the stream is damaged, was made with another dictionary, or
/// has another size, and if the size is impossible.
std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> stream, std::uint64_t size,
                                              std::span<const std::byte> dictionary);

/// Returns the parts of [0, size) of the converted file that no piece copies.
RangeSet uncopied(const std::vector<UndoPiece>& pieces, std::uint64_t size);

/// Takes the renumbering of the sections back in the bytes of one such table. `new_index_of`: by the index to be
/// restored. Indices that none of these became stay.
void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of);

}  // namespace sframe_gen::rewrite
