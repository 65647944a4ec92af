#include "rewrite/undo/undo_record.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "elf/compressed_section.hpp"
#include "elf/new_section.hpp"
#include "elf/records.hpp"
#include "rewrite/edit/contents.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"

namespace sframe_gen::rewrite {

namespace {

const Bytef* pointer(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

void set_buffers(z_stream& stream, std::span<const std::byte> input, std::span<std::byte> output) {
  stream.next_in = const_cast<Bytef*>(pointer(input));
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
}

/// Ends what it points at.
using Stream = std::unique_ptr<z_stream, int (*)(z_stream*)>;

void uleb128(ByteWriter& writer, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) writer.u8(static_cast<std::uint8_t>(value | 0x80));
  writer.u8(static_cast<std::uint8_t>(value));
}

/// `value` is a difference modulo 2^64.
void sleb128(ByteWriter& writer, std::uint64_t value) {
  auto rest = static_cast<std::int64_t>(value);
  for (; rest < -64 || rest >= 64; rest >>= 7) writer.u8(static_cast<std::uint8_t>(rest | 0x80));
  writer.u8(static_cast<std::uint8_t>(rest & 0x7f));
}

std::vector<std::byte> encode_body(const UndoRecord& record) {
  ByteWriter body(Endian::Little);
  uleb128(body, record.pieces.size());
  std::uint64_t end = 0;
  for (const UndoPiece& piece : record.pieces) {
    uleb128(body, piece.literals);
    sleb128(body, piece.from - end);
    uleb128(body, piece.size);
    end = piece.from + piece.size;
  }
  uleb128(body, record.new_index_of.size());
  std::uint64_t next = 0;
  for (const std::uint32_t index : record.new_index_of) {
    sleb128(body, index - next);
    next = std::uint64_t{index} + 1;
  }
  uleb128(body, record.corrections.size());
  end = 0;
  for (const UndoCorrection& correction : record.corrections) {
    uleb128(body, correction.offset - end);
    uleb128(body, correction.bytes.size());
    end = correction.offset + correction.bytes.size();
  }
  body.append_bytes(record.literals);
  for (const UndoCorrection& correction : record.corrections) body.append_bytes(correction.bytes);
  return body.release();
}

/// A count of things that take at least `size` bytes each, and are `most` at most.
std::uint64_t count(ByteReader& body, std::uint64_t size, std::uint64_t most, const char* what) {
  const std::uint64_t number = body.uleb128(what);
  if (number > std::min(most, body.left() / size)) body.fail(std::string(what) + " is impossible");
  return number;
}

UndoRecord decode_body(ByteReader body) {
  UndoRecord record;
  std::uint64_t end = 0;
  std::uint64_t literals = 0;
  record.pieces.resize(count(body, 3, most_undo_pieces, "number of pieces"));
  for (UndoPiece& piece : record.pieces) {
    piece.literals = body.uleb128("literal bytes");
    piece.from = end + static_cast<std::uint64_t>(body.sleb128("beginning of a copy"));
    piece.size = body.uleb128("size of a copy");
    end = piece.from + piece.size;
    literals += std::min(piece.literals, body.left() + 1);
  }
  record.new_index_of.resize(count(body, 1, SHN_LORESERVE, "number of sections"));
  std::uint64_t next = 0;
  for (std::uint32_t& index : record.new_index_of) {
    index = static_cast<std::uint32_t>(next + static_cast<std::uint64_t>(body.sleb128("section index")));
    next = std::uint64_t{index} + 1;
  }
  record.corrections.resize(count(body, 2, most_undo_corrections, "number of corrections"));
  end = 0;
  std::uint64_t corrected = 0;
  for (UndoCorrection& correction : record.corrections) {
    correction.offset = end + body.uleb128("offset of a correction");
    const std::uint64_t size = body.uleb128("size of a correction");
    corrected += std::min(size, body.left() + 1);
    if (corrected > body.left()) body.fail("size of a correction is impossible");
    correction.bytes.resize(size);
    end = correction.offset + size;
  }
  const auto bytes = body.take(literals, "literal bytes");
  record.literals.assign(bytes.begin(), bytes.end());
  for (UndoCorrection& correction : record.corrections) {
    const auto right = body.take(correction.bytes.size(), "bytes of a correction");
    std::copy(right.begin(), right.end(), correction.bytes.begin());
  }
  if (!body.at_end()) body.fail("bytes follow the last correction");
  return record;
}

/// Returns old indices by the new ones. A new one without an old one keeps its number.
std::vector<std::uint32_t> invert(const std::vector<std::uint32_t>& new_index_of) {
  std::uint32_t count = 0;
  for (const std::uint32_t index : new_index_of) count = std::max(count, index < SHN_LORESERVE ? index + 1 : 0);
  std::vector<std::uint32_t> old_index_of(count);
  std::iota(old_index_of.begin(), old_index_of.end(), 0U);
  for (std::uint32_t i = 0; i < new_index_of.size(); ++i)
    if (new_index_of[i] < count) old_index_of[new_index_of[i]] = i;
  return old_index_of;
}

}  // namespace

std::vector<std::byte> deflate(std::span<const std::byte> bytes, std::span<const std::byte> dictionary) {
  // Small inputs get small tables, as zlib clears them first. The best compression takes much longer than the usual
  // one, on the zeros of headers, to save some bytes.
  constexpr int small_window = 14, small_memory = 5, usual_memory = 8;
  const bool is_small = bytes.size() + dictionary.size() <= std::size_t{1} << small_window;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, is_small ? small_window : MAX_WBITS,
                     is_small ? small_memory : usual_memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const Stream end(&stream, ::deflateEnd);
  ::deflateSetDictionary(&stream, pointer(dictionary), static_cast<uInt>(dictionary.size()));
  std::vector<std::byte> deflated(::deflateBound(&stream, bytes.size()));
  set_buffers(stream, bytes, deflated);
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::logic_error("deflateBound is too small");
  deflated.resize(stream.total_out);
  return deflated;
}

std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> stream_bytes, std::uint64_t size,
                                              std::span<const std::byte> dictionary) {
  if (elf::is_impossible_growth(stream_bytes.size(), size)) return {};
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  const Stream end(&stream, ::inflateEnd);
  std::vector<std::byte> bytes(size);
  set_buffers(stream, stream_bytes, bytes);
  int status = ::inflate(&stream, Z_FINISH);
  if (status == Z_NEED_DICT &&
      ::inflateSetDictionary(&stream, pointer(dictionary), static_cast<uInt>(dictionary.size())) == Z_OK)
    status = ::inflate(&stream, Z_FINISH);
  if (status != Z_STREAM_END || stream.total_out != size || stream.avail_in != 0) return {};
  return bytes;
}

std::optional<std::vector<std::byte>> encode_undo(const UndoRecord& record, std::span<const std::byte> dictionary) {
  if (record.pieces.size() > most_undo_pieces || record.corrections.size() > most_undo_corrections) return {};
  const std::vector<std::byte> body = encode_body(record);
  const std::vector<std::byte> deflated = deflate(body, dictionary);
  if (elf::is_impossible_growth(deflated.size(), body.size())) return {};
  ByteWriter writer(Endian::Little);
  writer.append_bytes(elf::undo_magic);
  writer.append_bytes(Digest{});
  uleb128(writer, body.size());
  writer.append_bytes(deflated);
  return writer.release();
}

std::span<std::byte> digest_of(std::vector<std::byte>& encoded) {
  return std::span(encoded).subspan(elf::undo_magic.size(), sizeof(Digest));
}

std::optional<DecodedUndo> decode_undo(std::span<const std::byte> bytes, std::span<const std::byte> dictionary,
                                       const InputOrigin& origin) {
  ByteReader reader(bytes, Endian::Little, origin);
  if (!std::ranges::equal(reader.take(elf::undo_magic.size(), "format of the record"), elf::undo_magic))
    throw Refused(origin.file, "converted by another version of sframe-gen; use that one for --remove");
  DecodedUndo undo;
  std::ranges::copy(reader.take(undo.digest.size(), "digest"), undo.digest.begin());
  const std::uint64_t size = reader.uleb128("size of the body");
  const auto body = inflate(reader.take(reader.left(), "body"), size, dictionary);
  if (!body) return {};
  undo.record = decode_body(ByteReader(*body, Endian::Little, origin));
  return undo;
}

RangeSet uncopied(const std::vector<UndoPiece>& pieces, std::uint64_t size) {
  std::vector<Range> copied;
  copied.reserve(pieces.size());
  for (const UndoPiece& piece : pieces) copied.push_back({piece.from, piece.from + piece.size});
  return RangeSet({{0, size}}).without(RangeSet(std::move(copied)));
}

void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of) {
  renumber_sections(table, section_type, endian, invert(new_index_of));
}

}  // namespace sframe_gen::rewrite
