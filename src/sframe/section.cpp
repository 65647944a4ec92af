#include "sframe_gen/section.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sframe/format.hpp"
#include "sframe/section_walk.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::sframe {
namespace {

/// Builds a section of what the parser finds, and throws at the first fault. If `remarks` is not null, what does not
/// hinder reading goes there instead.
class SectionDecoder {
 public:
  SectionDecoder(const InputOrigin& origin, const Strictness& strictness, std::vector<std::string>* remarks)
      : origin_(origin), strictness_(strictness), remarks_(remarks) {}

  Section decode(std::span<const std::byte> bytes, std::uint64_t address, Family family) {
    read_header(
        bytes, address, family, [this](const Fault& found) { return fault(found); }, header_);
    section_.address = address;
    section_.endian = header_.fields.endian;
    section_.version = header_.fields.version;
    section_.flags = header_.fields.flags;
    section_.abi = header_.fields.abi->abi;
    section_.fixed_fp_offset = header_.fixed_fp_offset;
    section_.fixed_ra_offset = header_.fixed_ra_offset;
    section_.fdes.reserve(header_.fields.count);
    SectionWalk(header_, *this).run();
    const bool is_sorted = (section_.flags & flag::sorted) != 0;
    if (!is_sorted && !strictness_.allow_overlap) check_disjoint();
    return std::move(section_);
  }

  // What SectionWalk asks for.

  bool fault(const Fault& fault) {
    if (fault.problem == Problem::RowAtEnd && strictness_.allow_fre_at_end) return true;
    if (fault.problem == Problem::Overlap && strictness_.allow_overlap) return true;
    const std::string sentence = sentence_of(fault, header_);
    if (fault.problem == Problem::UnknownVersion || fault.problem == Problem::HostileRowCount)
      throw Refused(origin_.file, origin_.section + ' ' + sentence);
    const MalformedInput failure(origin_, header_.offset_of(fault.at), sentence);
    if (remarks_ == nullptr || !is_harmless(fault.problem)) throw failure;
    constexpr std::size_t most_remarks = 16;  // a damaged section may have one for each of its bytes
    if (remarks_->size() < most_remarks) remarks_->push_back(failure.what());
    return true;
  }

  void function(const FdeFields& fde) {
    section_.fdes.push_back({fde.start,
                             fde.size,
                             version().marks_signal_frames && fde.info.signal_frame(),
                             fde.info.b_key(),
                             fde.info.pc_type(),
                             fde.repeat_size,
                             fde.is_flexible() ? FdeType::Flexible : FdeType::Default,
                             {}});
    section_.fdes.back().fres.reserve(fde.row_count);
  }

  void row(const FreFields& fre, const RecoveryRules* rules) {
    Fre& made = section_.fdes.back().fres.emplace_back();
    made.pc_offset = fre.start;
    if (rules != nullptr) made.recovery = *rules;
  }

  void end(const FdeFields&, const std::byte*) {}

 private:
  const VersionTraits& version() const { return *header_.version; }

  /// Whether it does not hinder reading.
  static bool is_harmless(Problem problem) {
    constexpr std::array harmless{Problem::FixedFp,      Problem::FixedRa,       Problem::StrayBytes,
                                  Problem::ReservedInfo, Problem::ReservedInfo2, Problem::Padding};
    return std::ranges::find(harmless, problem) != harmless.end();
  }

  /// A PC in two functions would be unwound by chance. Functions of no bytes hold no PC.
  void check_disjoint() {
    const std::vector<Fde>& fdes = section_.fdes;
    std::vector<std::uint32_t> by_start(fdes.size());
    std::iota(by_start.begin(), by_start.end(), 0U);
    std::ranges::sort(by_start, {}, [&](std::uint32_t i) { return fdes[i].start; });
    std::erase_if(by_start, [&](std::uint32_t i) { return fdes[i].size == 0; });
    for (std::size_t i = 1; i < by_start.size(); ++i) {
      const Fde &before = fdes[by_start[i - 1]], &fde = fdes[by_start[i]];
      if (fde.start - before.start >= before.size) continue;
      const std::byte* const entry = SectionReader(header_.fields).fde_at(by_start[i]).entry;
      fault({Problem::Overlap, entry, {fde.start, before.start, before.start + before.size}});
    }
  }

  const InputOrigin& origin_;
  const Strictness& strictness_;
  std::vector<std::string>* remarks_;
  Header header_;
  Section section_;
};

}  // namespace

Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const InputOrigin& origin,
               Strictness strictness, Family family) {
  return SectionDecoder(origin, strictness, nullptr).decode(bytes, section_address, family);
}

RemarkedSection decode_with_remarks(std::span<const std::byte> bytes, std::uint64_t section_address,
                                    const InputOrigin& origin, Strictness strictness, Family family) {
  RemarkedSection found;
  found.section = SectionDecoder(origin, strictness, &found.remarks).decode(bytes, section_address, family);
  return found;
}

}  // namespace sframe_gen::sframe
