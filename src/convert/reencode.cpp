#include "convert/reencode.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "convert/padding.hpp"
#include "emit/compact/encode.hpp"
#include "emit/represent.hpp"
#include "object/sframe_sections.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/lookup.hpp"
#include "support/text.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::convert {

namespace {

/// Rows of a section become descriptors of another version, one after the other.
class Translation {
 public:
  Translation(const std::string& file, const emit::Dialect& dialect) : file_(file), dialect_(dialect) {}

  std::vector<sframe::Fde> translate(const sframe::Section& section) {
    for (const sframe::Fde& fde : section.fdes) {
      if (can_repeat(fde)) {
        take(fde);
      } else {
        write_out(fde, section.version);
      }
    }
    std::ranges::sort(fdes_, {}, &sframe::Fde::start);
    return std::move(fdes_);
  }

 private:
  bool can_repeat(const sframe::Fde& fde) const {
    return fde.pc_type == sframe::PcType::Mask && fde.repeat_size != 0 && dialect_.version->has_repeat_size &&
           !fde.fres.empty() && fde.fres.front().pc_offset == 0;
  }

  [[noreturn]] void refuse(std::uint64_t pc, const std::string& why) const {
    throw Refused(file_,
                  "row at " + hex(pc) + " that " + std::string(dialect_.version->name) + " cannot represent: " + why);
  }

  void check(std::uint64_t pc, const sframe::Fde& fde, const std::optional<sframe::RecoveryRules>& recovery) const {
    if (fde.signal_frame && !dialect_.version->marks_signal_frames)
      refuse(pc, std::string(sentence_of(Unrepresentable::SignalFrame)));
    if (!recovery) {
      if (!dialect_.undefined_ra_rows) refuse(pc, std::string(sentence_of(Unrepresentable::ReturnAddressUndefined)));
      return;
    }
    if (recovery->mangled_ra && !dialect_.version->has_mangled_ra)
      refuse(pc, std::string(sentence_of(Unrepresentable::SignedReturnAddress)));
    const auto obstacle = emit::obstacle_to_default(*recovery, dialect_);
    if (obstacle && !dialect_.flexible_descriptors) refuse(pc, std::string(sentence_of(*obstacle)));
  }

  void take(const sframe::Fde& fde) {
    for (const sframe::Fre& fre : fde.fres) check(fde.start + fre.pc_offset, fde, fre.recovery);
    fdes_.push_back(fde);
    set_type(fdes_.back());
  }

  /// Each stretch by itself: rows of version 1 may be bit masks, and blocks that repeat have no word there.
  void write_out(const sframe::Fde& fde, sframe::Version version) {
    open_ = false;
    const auto add = [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& fre) {
      add_row(fde, fde.start + begin, fde.start + end, fre.recovery);
    };
    if (sframe::is_outermost_throughout(fde, version)) {
      if (fde.size != 0) add(0, fde.size, {});
    } else {
      sframe::for_each_interval(fde, add);
    }
    if (open_) set_type(fdes_.back());
  }

  void add_row(const sframe::Fde& fde, std::uint64_t begin, std::uint64_t end,
               const std::optional<sframe::RecoveryRules>& recovery) {
    check(begin, fde, recovery);
    const bool goes_on = open_ && fdes_.back().start + fdes_.back().size == begin &&
                         fdes_.back().fres.size() < dialect_.version->largest_fre_count;
    if (!goes_on) {
      if (open_) set_type(fdes_.back());
      const bool keyed = fde.b_key && dialect_.version->has_mangled_ra;
      fdes_.push_back({begin, 0, fde.signal_frame, keyed, sframe::PcType::Increment, 0, sframe::FdeType::Default, {}});
      open_ = true;
    }
    sframe::Fde& made = fdes_.back();
    if (made.fres.empty() || made.fres.back().recovery != recovery)
      made.fres.push_back({static_cast<std::uint32_t>(begin - made.start), recovery});
    made.size = static_cast<std::uint32_t>(end - made.start);
  }

  void set_type(sframe::Fde& fde) const {
    const bool plain = std::ranges::all_of(fde.fres, [&](const sframe::Fre& fre) {
      return !fre.recovery || !emit::obstacle_to_default(*fre.recovery, dialect_);
    });
    fde.type = plain ? sframe::FdeType::Default : sframe::FdeType::Flexible;
  }

  const std::string& file_;
  const emit::Dialect& dialect_;
  std::vector<sframe::Fde> fdes_;
  bool open_ = false;  ///< whether the last one is of the descriptor that is being written out
};

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
  section_ = std::move(object::read_sframe_sections(image).front().section);
}

EncodedFunctions Reencoding::encode(const emit::Dialect& dialect) const {
  const std::vector<sframe::Fde> fdes = Translation(image_.name(), dialect).translate(section_);
  if (fdes.empty()) throw Refused(image_.name(), "section without rows");
  EncodedFunctions encoded{emit::SectionEncoder(dialect), coverage_of(fdes, dialect)};
  emit::Forms forms(dialect);
  const CodeGaps gaps(image_, dialect.abi->abi);
  const std::optional<RangeSet> described = described_by_cfi(image_);
  const auto cover = [&] {
    if (dialect.covers_padding)
      cover_padding(image_, described ? &gaps : nullptr, described.value_or(RangeSet()), smallest_padding, encoded);
  };
  if (dialect.compact_rows == 0) {
    for (const sframe::Fde& fde : fdes) encoded.encoder.add(emit::with_forms(fde, forms), forms);
    cover();
    return encoded;
  }
  emit::compact::RowStream rows(forms, [&](std::uint64_t begin, std::uint64_t end) {
    return described && !described->overlaps({begin, end}) && gaps.is_padding(begin, end);
  });
  for (const sframe::Fde& fde : fdes) rows.add(emit::with_forms(fde, forms));
  take_compacted(emit::compact::encode(rows, dialect), encoded);
  cover();
  return encoded;
}

void Reencoding::check(std::span<const std::byte> bytes, std::uint64_t address, sframe::Family family) const {
  const sframe::Section again = sframe::decode(bytes, address, {image_.name(), "the new section"}, {}, family);
  verify::check_same_rows(section_, again, image_);
}

}  // namespace sframe_gen::convert
