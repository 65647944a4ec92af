#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sframe/fde_decoder.hpp"
#include "sframe/format.hpp"
#include "sframe/header_decoder.hpp"
#include "sframe/remark.hpp"
#include "sframe/version.hpp"
#include "sframe_gen/section.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

class SectionDecoder {
 public:
  SectionDecoder(std::span<const std::byte> bytes, std::uint64_t address, const Origin& origin, Strictness strictness,
                 Family family)
      : bytes_(bytes),
        address_(address),
        origin_(&origin),
        header_(decode_header(bytes, family, origin, strictness)),
        rules_{*header_.version, *header_.traits, strictness} {}

  Section decode() {
    check_padding(header_.end, header_.index_offset);
    check_padding(header_.index_end, header_.fres_offset);
    check_padding(header_.fres_end, bytes_.size());

    Section section;
    section.address = address_;
    section.endian = header_.endian;
    section.version = header_.version->version;
    section.flags = header_.flags;
    section.abi = header_.traits->abi;
    section.fixed_fp_offset = header_.fixed_fp_offset;
    section.fixed_ra_offset = header_.fixed_ra_offset;
    section.fdes = decode_fdes();
    if ((header_.flags & flag::sorted) != 0) check_sorted(section.fdes);
    if (!rules_.strictness.allow_overlap) check_disjoint(section.fdes);
    return section;
  }

 private:
  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const {
    throw MalformedInput(*origin_, offset, what);
  }

  std::uint64_t entry_offset(std::size_t fde) const {
    return header_.index_offset + std::uint64_t{fde} * header_.version->descriptor_size;
  }

  /// Sections are padded to their alignment; anything but zeros would be data that no field accounts for.
  void check_padding(std::uint64_t begin, std::uint64_t end) const {
    const auto gap = bytes_.subspan(begin, end - begin);
    const auto stray = std::ranges::find_if(gap, [](std::byte byte) { return byte != std::byte{0}; });
    if (stray == gap.end()) return;
    remark(
        rules_.strictness, ByteReader(bytes_, header_.endian, *origin_),
        begin + static_cast<std::uint64_t>(stray - gap.begin()),
        "byte " + hex(std::to_integer<std::uint8_t>(*stray)) + " belongs to neither the function index nor the rows");
  }

  std::vector<Fde> decode_fdes() const {
    const auto index_bytes = bytes_.subspan(header_.index_offset, header_.index_end - header_.index_offset);
    ByteReader index(index_bytes, header_.endian, *origin_, header_.index_offset);
    std::vector<Fde> fdes;
    fdes.reserve(header_.fde_count);
    std::uint64_t fre_count = 0;
    while (!index.at_end()) {
      fdes.push_back(decode_fde(index));
      fre_count += fdes.back().fres.size();
      if (fre_count > header_.fre_count) break;
    }
    if (fre_count != header_.fre_count) {
      fail(HeaderFields(*header_.version).fre_count_at(),
           "number of rows is " + std::to_string(header_.fre_count) + ", but the functions have " +
               (index.at_end() ? "" : "at least ") + std::to_string(fre_count));
    }
    return fdes;
  }

  Fde decode_fde(ByteReader& index) const {
    Fde fde;
    fde.start = decode_start(index);
    fde.size = index.u32("function size");
    if (fde.start + fde.size < fde.start) {
      fail(index.offset() - 4,
           "function at " + hex(fde.start) + " with size " + hex(fde.size) + " ends outside the address space");
    }
    const std::uint64_t fres_field = index.offset();
    const std::uint32_t fres_at = index.u32("offset of the function's rows");
    const bool in_descriptor = !header_.version->splits_descriptor;
    FreShape shape{};
    if (in_descriptor) {
      const std::uint32_t fre_count = index.u32("number of rows of the function");
      shape = decode_descriptor_tail(index, fre_count, rules_, fde);
    }

    const auto fre_bytes = bytes_.subspan(header_.fres_offset, header_.fres_end - header_.fres_offset);
    const bool nothing_there = in_descriptor && shape.fre_count == 0;
    if (fres_at > fre_bytes.size() || (fres_at == fre_bytes.size() && !nothing_there)) {
      fail(fres_field,
           "function's rows are at " + hex(fres_at) + ", but the rows have only " + count_of(fre_bytes.size(), "byte"));
    }
    ByteReader fres(fre_bytes.subspan(fres_at), header_.endian, *origin_, header_.fres_offset + fres_at);
    if (!in_descriptor) shape = decode_attribute(fres, rules_, fde);
    decode_fres(fres, shape, rules_, fde);
    return fde;
  }

  /// The stored start counts from its own field or from the section (2.1.3); in CTF Frame from the descriptor, whose
  /// first field it is.
  std::uint64_t decode_start(ByteReader& index) const {
    const std::uint64_t field = index.offset();
    const bool from_field =
        (header_.flags & flag::function_start_pc_relative) != 0 || header_.version->version == Version::CtfFrame;
    const std::uint64_t base = address_ + (from_field ? field : 0);
    const std::int64_t distance =
        header_.version->start_size == 8 ? index.i64("function start") : index.i32("function start");
    const std::uint64_t start = base + static_cast<std::uint64_t>(distance);
    if (distance < 0 ? start >= base : start < base) {
      fail(field, "function start is " + std::to_string(distance) + " bytes from " + hex(base) +
                      ", which is outside the address space");
    }
    return start;
  }

  void check_sorted(const std::vector<Fde>& fdes) const {
    for (std::size_t i = 1; i < fdes.size(); ++i) {
      if (fdes[i].start >= fdes[i - 1].start) continue;
      fail(entry_offset(i), "function at " + hex(fdes[i].start) + " comes after the one at " + hex(fdes[i - 1].start) +
                                ", but the index is flagged as sorted");
    }
  }

  /// A pc in two functions would be unwound by chance. Functions of no bytes hold no pc.
  void check_disjoint(const std::vector<Fde>& fdes) const {
    std::vector<std::uint32_t> by_start(fdes.size());
    std::iota(by_start.begin(), by_start.end(), 0U);
    if ((header_.flags & flag::sorted) == 0) {
      std::ranges::sort(by_start, {}, [&](std::uint32_t i) { return fdes[i].start; });
    }
    const Fde* before = nullptr;
    for (const std::uint32_t i : by_start) {
      const Fde& fde = fdes[i];
      if (fde.size == 0) continue;
      if (before != nullptr && fde.start - before->start < before->size) {
        fail(entry_offset(i), "function at " + hex(fde.start) + " overlaps the one from " + hex(before->start) +
                                  " to " + hex(before->start + before->size));
      }
      before = &fde;
    }
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  const Origin* origin_;
  Header header_;
  DecodingRules rules_;
};

}  // namespace

Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const Origin& origin,
               Strictness strictness, Family family) {
  return SectionDecoder(bytes, section_address, origin, strictness, family).decode();
}

}  // namespace sframe_gen::sframe
