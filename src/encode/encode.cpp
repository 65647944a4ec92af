// Of sections that are decoded already. encode_functions has the functions of files.

#include "sframe_gen/encode.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emit/compact/compacted.hpp"
#include "emit/dialect.hpp"
#include "emit/encoder.hpp"
#include "encode/from_section.hpp"
#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/find_rows.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// A section from anywhere, whose functions and rows become what those of a decoded section are.
class Checked {
 public:
  Checked(const Section& section, const std::string& name) : section_(section), name_(name) {
    const AbiTraits* const abi = find_abi(static_cast<std::uint8_t>(section.abi));
    if (abi == nullptr) throw Refused(name_, "unknown ABI");
    abi_ = abi;
    if (section.version > Version::V3) throw Refused(name_, "unknown version");
    if (section.fixed_fp_offset != 0) throw Refused(name_, "fixed FP offset, which no ABI has");
    if (section.fixed_ra_offset != 0 && section.fixed_ra_offset != abi->fixed_ra_offset)
      throw Refused(name_, "fixed RA offset that is not the ABI's");
    for (Fde& fde : section_.fdes) check_function(fde);
    std::erase_if(section_.fdes, [](const Fde& fde) { return fde.size == 0; });
    std::ranges::sort(section_.fdes, {}, &Fde::start);
    section_.flags |= flag::sorted;
    for (std::size_t i = 1; i < section_.fdes.size(); ++i) {
      const Fde &before = section_.fdes[i - 1], &fde = section_.fdes[i];
      if (fde.start - before.start < before.size) refuse(fde, "overlaps the function at " + hex(before.start));
    }
    if (section_.fdes.empty()) throw Refused(name_, "no function has code");
  }

  const Section& section() const { return section_; }

 private:
  [[noreturn]] void refuse(const Fde& fde, const std::string& why) const {
    throw Refused(name_, "function at " + hex(fde.start) + ' ' + why);
  }

  void check_function(Fde& fde) const {
    if (fde.size > std::numeric_limits<std::uint64_t>::max() - fde.start) refuse(fde, "passes the last address");
    if (fde.b_key && !abi_->signs_return_address) refuse(fde, "has a B key, which only AArch64 has");
    if (fde.pc_type != PcType::Increment && fde.pc_type != PcType::Mask) refuse(fde, "has an unknown PC type");
    const bool repeats = fde.pc_type == PcType::Mask;
    if (!repeats && fde.repeat_size != 0) refuse(fde, "has a repeat size, but does not repeat");
    // Only sections of CTF Frame and version 1 have bit masks, of code that is a PLT; each PC of it is looked at.
    constexpr std::uint32_t largest_masked = 1U << 24U;
    if (has_bit_mask_fres(fde) && section_.version > Version::V1) refuse(fde, "repeats, but has no repeat size");
    if (has_bit_mask_fres(fde) && fde.size > largest_masked)
      refuse(fde, "is too large for row starts that are bit masks");
    std::uint64_t limit = std::uint64_t{fde.size} + 1;
    if (repeats && fde.repeat_size != 0) limit = std::min<std::uint64_t>(limit, fde.repeat_size);
    for (std::size_t i = 0; i < fde.fres.size(); ++i) {
      Fre& fre = fde.fres[i];
      if (i != 0 && fre.pc_offset <= fde.fres[i - 1].pc_offset) refuse(fde, "has rows that do not ascend");
      if (fre.pc_offset >= limit) refuse(fde, "has a row after its end");
      if (fre.recovery) drop_fixed(*fre.recovery);
    }
  }

  /// Rules that the ABI fixes are left out, as sections have them.
  void drop_fixed(RecoveryRules& rules) const {
    const Rule fixed =
        abi_->fixed_ra_offset != 0 ? Rule::at_cfa(abi_->fixed_ra_offset) : Rule::in_register(abi_->return_address);
    if (rules.return_address == fixed) rules.return_address.reset();
    if (rules.frame_pointer == Rule::in_register(abi_->frame_pointer)) rules.frame_pointer.reset();
  }

  Section section_;
  const std::string& name_;
  const AbiTraits* abi_ = nullptr;
};

std::vector<std::byte> bytes_at(std::uint64_t address, const emit::SectionEncoder& encoder) {
  const std::uint64_t size = encoder.encoded_size();
  if (address + size < address)
    throw std::range_error(count_of(size, "byte") + " at " + hex(address) + " end outside the address space");
  return encoder.encode(address);
}

std::vector<std::byte> encode_fdes(const std::vector<Fde>& fdes, const emit::Dialect& dialect, std::uint64_t address) {
  emit::EncodedRules encoded_rules(dialect);
  if (dialect.compact_rows == 0) {
    emit::SectionEncoder encoder(dialect);
    for (const Fde& fde : fdes) encoder.add(emit::with_encoded_rules(fde, encoded_rules), encoded_rules);
    return bytes_at(address, encoder);
  }
  emit::compact::RowStream rows(encoded_rules, [](std::uint64_t begin, std::uint64_t end) { return begin == end; });
  for (const Fde& fde : fdes) rows.add(emit::with_encoded_rules(fde, encoded_rules));
  return bytes_at(address, emit::compact::encode(rows, dialect).encoder);
}

}  // namespace

std::vector<std::byte> encode(const Section& section, const OutputFormat& format, const std::string& name) {
  const Checked checked(section, name);
  if (format.version > Version::V3) throw Refused(name, "unknown version");
  const emit::Dialect dialect = emit::make_dialect(format, section.abi, name);
  const std::vector<Fde> fdes = encode::fdes_of(checked.section(), dialect, name);
  if (fdes.empty()) throw Refused(name, "no function has rows");
  std::vector<std::byte> bytes;
  try {
    bytes = encode_fdes(fdes, dialect, section.address);
  } catch (const std::logic_error& limit) {  // std::length_error
    throw Refused(name, limit.what());
  } catch (const std::range_error& limit) {
    throw Refused(name, limit.what());
  }
  const Family family = format.version == Version::CtfFrame ? Family::CtfFrame : Family::SFrame;
  const Section again = decode(bytes, section.address, {name, "the new section"}, {}, family);
  if (pc_rows(again) != pc_rows(checked.section()))
    throw LayoutViolation(name, "the new section has other rows than were given");
  return bytes;
}

OutputFormat format_of(const Section& section) {
  const AbiTraits* const abi = find_abi(static_cast<std::uint8_t>(section.abi));
  OutputFormat format;
  format.version = section.version;
  format.pc_relative_starts = section.version != Version::V2 ||
                              (section.flags & flag::function_start_pc_relative) != 0 ||
                              (abi != nullptr && abi->came_with_erratum);
  format.flexible = FlexibleDescriptors::Always;
  return format;
}

std::vector<std::byte> encode(const Section& section) {
  return encode(section, format_of(section));
}

}  // namespace sframe_gen::sframe

namespace sframe_gen {

namespace {

std::string_view version_name(sframe::Version version) {
  return version <= sframe::Version::V3 ? sframe::traits_of(version).name : "an unknown version";
}

}  // namespace

CannotRepresent::CannotRepresent(const std::string& name, std::uint64_t pc, Unrepresentable reason,
                                 sframe::Version version)
    : Refused(name, "row at " + hex(pc) + " that " + std::string(version_name(version)) +
                        " cannot represent: " + std::string(sentence_of(reason))),
      pc_(pc),
      reason_(reason) {}

}  // namespace sframe_gen
