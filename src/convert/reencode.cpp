#include "convert/reencode.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "elf/object/sframe_sections.hpp"
#include "emit/compact/compacted.hpp"
#include "encode/from_section.hpp"
#include "encode/padding.hpp"
#include "sframe/format.hpp"
#include "support/text.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::convert {

namespace {

Coverage coverage_of(const std::vector<sframe::Fde>& fdes, const emit::Dialect& dialect) {
  Coverage coverage;
  coverage.version = dialect.version->version;
  coverage.abi = dialect.abi->abi;
  coverage.functions = coverage.whole = fdes.size();
  for (const sframe::Fde& fde : fdes) {
    coverage.described_bytes += fde.size;
    ++(fde.pc_type == sframe::PcType::Mask     ? coverage.mask_descriptors
       : fde.type == sframe::FdeType::Flexible ? coverage.flexible_descriptors
                                               : coverage.default_descriptors);
    coverage.rows += fde.fres.size();
  }
  coverage.covered_bytes = coverage.described_bytes;
  return coverage;
}

/// One byte is what a section that covers padding leaves without a row.
constexpr std::uint64_t smallest_padding = 2;

/// The PCs that the file's CFI describes: these are no padding, whatever their instructions, though the section may
/// have no row for them. No value: an FDE cannot be read, and what looks like padding may be code of its function.
std::optional<RangeSet> described_by_cfi(const elf::Image& image) {
  try {
    const cfi::FrameSource source(image, image);
    if (source.dropped().unreadable != 0) return std::nullopt;
    return source.described();
  } catch (const MalformedInput&) {
    return std::nullopt;
  }
}

}  // namespace

Reencoding::Reencoding(const elf::Image& image) : image_(image) {
  section_ = std::move(elf::object::read_sframe_sections(image).front().section);
}

encode::EncodedFunctions Reencoding::encode(const emit::Dialect& dialect) const {
  const std::vector<sframe::Fde> fdes = encode::fdes_of(section_, dialect, image_.name());
  if (fdes.empty()) throw Refused(image_.name(), "section without rows");
  encode::EncodedFunctions encoded{emit::SectionEncoder(dialect), coverage_of(fdes, dialect)};
  emit::EncodedRules encoded_rules(dialect);
  const encode::CodeGaps gaps(image_, dialect.abi->abi);
  const std::optional<RangeSet> described = described_by_cfi(image_);
  const auto cover = [&] {
    if (dialect.covers_padding)
      encode::cover_padding(image_, described ? &gaps : nullptr, described.value_or(RangeSet()), smallest_padding,
                            encoded);
  };
  if (dialect.compact_rows == 0) {
    for (const sframe::Fde& fde : fdes)
      encoded.encoder.add(emit::with_encoded_rules(fde, encoded_rules), encoded_rules);
    cover();
    return encoded;
  }
  encode::CodeWindow window = gaps.window();
  emit::compact::RowStream rows(encoded_rules, [&](std::uint64_t begin, std::uint64_t end) {
    return described && !described->overlaps({begin, end}) && gaps.is_padding(begin, end, window);
  });
  for (const sframe::Fde& fde : fdes) rows.add(emit::with_encoded_rules(fde, encoded_rules));
  encode::take_compacted(emit::compact::encode(rows, dialect), encoded);
  cover();
  return encoded;
}

void Reencoding::check(std::span<const std::byte> bytes, std::uint64_t address, sframe::Family family) const {
  const sframe::Section again = sframe::decode(bytes, address, {image_.name(), "the new section"}, {}, family);
  verify::check_same_rows(section_, again, image_);
}

}  // namespace sframe_gen::convert
