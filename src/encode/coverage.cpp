#include "encode/coverage.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::encode {

namespace {

void count_holes(const std::vector<CoverageHole>& holes, Coverage& coverage) {
  if (holes.empty()) return;
  std::set<Unrepresentable> seen;
  for (const CoverageHole& hole : holes) {
    Coverage::ReasonCount& reason = coverage.reasons[hole.reason];
    if (seen.insert(hole.reason).second) ++reason.functions;
    reason.bytes += hole.end - hole.begin;
    coverage.holes.push_back({hole, {}, {}});
  }
}

void count_descriptors(const std::vector<emit::FdeRows>& fdes, Coverage& coverage) {
  for (const emit::FdeRows& fde : fdes) {
    ++(fde.pc_type == sframe::PcType::Mask     ? coverage.mask_descriptors
       : fde.type == sframe::FdeType::Flexible ? coverage.flexible_descriptors
                                               : coverage.default_descriptors);
    coverage.rows += fde.rows.size();
  }
}

}  // namespace

void count(std::uint64_t size, const emit::SplitFunction& split, Coverage& coverage) {
  ++coverage.functions;
  ++(split.holes.empty() ? coverage.whole : split.fdes.empty() ? coverage.left_out : coverage.in_part);
  coverage.described_bytes += size;
  coverage.covered_bytes += size;
  for (const CoverageHole& hole : split.holes) coverage.covered_bytes -= hole.end - hole.begin;
  count_holes(split.holes, coverage);
  count_descriptors(split.fdes, coverage);
}

void count_stubs(const rows::stubs::StubRun& run, const emit::SplitFunction& split, Coverage& coverage) {
  coverage.stubs.entries += run.entries;
  coverage.stubs.bytes += run.size;
  coverage.stubs.bytes_without_cfi += run.size;
  count_holes(split.holes, coverage);
  count_descriptors(split.fdes, coverage);
}

void name_holes(Coverage& coverage, const elf::Image& image) {
  if (coverage.holes.empty() && coverage.contradictions.empty()) return;
  elf::SymbolNames names(image);
  for (StubContradiction& contradiction : coverage.contradictions)
    contradiction.function = names.name_at(contradiction.begin);
  for (NamedCoverageHole& named : coverage.holes) named.function = names.name_at(named.hole.begin);
  if (!image.is_object()) return;
  // The addresses are our own, and no two sections share one: people know places by section.
  NameBudget section_names(image.file_bytes().size());
  const elf::SectionsByAddress sections(image);
  for (NamedCoverageHole& named : coverage.holes) {
    const elf::Section* const section = sections.find(named.hole.begin);
    if (section == nullptr) continue;
    if (section_names.take(section->name.size())) named.section = section->name;
    named.hole.begin -= section->header.sh_addr;
    named.hole.end -= section->header.sh_addr;
  }
}

std::string why_no_function(const Coverage& coverage) {
  std::vector<std::string> sentences = sentences_of(coverage.dropped);
  for (std::string& reason : reasons_of(coverage)) sentences.push_back(std::move(reason));
  return "no function that SFrame could describe" + in_parentheses(sentences);
}

}  // namespace sframe_gen::encode

namespace sframe_gen {

namespace {

struct ReasonText {
  std::string_view key, sentence;
};

constexpr auto words = std::to_array<ReasonText>({
#define SFRAME_GEN_REASON(name, key, sentence) {key, sentence},
#include "sframe_gen/unrepresentable.def"
#undef SFRAME_GEN_REASON
});

/// Returns the words of a reason, which a caller of the library may have from a later version.
constexpr ReasonText text_of_reason(Unrepresentable reason) {
  const auto number = static_cast<std::size_t>(reason);
  return number < words.size() ? words[number] : ReasonText{"unknown", "unknown reason"};
}

}  // namespace

std::string_view key_of(Unrepresentable reason) {
  return text_of_reason(reason).key;
}

std::string_view sentence_of(Unrepresentable reason) {
  return text_of_reason(reason).sentence;
}

Compaction& Compaction::operator+=(const Compaction& other) {
  default_bytes += other.default_bytes;
  default_descriptors += other.default_descriptors;
  default_rows += other.default_rows;
  bytes += other.bytes;
  by_fewer_descriptors += other.by_fewer_descriptors;
  by_fewer_rows += other.by_fewer_rows;
  return *this;
}

void Coverage::append(const Coverage& other) {
  functions += other.functions;
  whole += other.whole;
  in_part += other.in_part;
  left_out += other.left_out;
  described_bytes += other.described_bytes;
  covered_bytes += other.covered_bytes;
  for (const auto& [reason, count] : other.reasons) {
    reasons[reason].functions += count.functions;
    reasons[reason].bytes += count.bytes;
  }
  holes.insert(holes.end(), other.holes.begin(), other.holes.end());
  dropped.duplicate += other.dropped.duplicate;
  stubs.entries += other.stubs.entries;
  stubs.bytes += other.stubs.bytes;
  stubs.bytes_without_cfi += other.stubs.bytes_without_cfi;
  go.functions += other.go.functions;
  go.bytes += other.go.bytes;
  go.replaced += other.go.replaced;
  contradictions.insert(contradictions.end(), other.contradictions.begin(), other.contradictions.end());
  default_descriptors += other.default_descriptors;
  flexible_descriptors += other.flexible_descriptors;
  mask_descriptors += other.mask_descriptors;
  rows += other.rows;
  if (compaction && other.compaction) {
    *compaction += *other.compaction;
  } else if (other.compaction) {
    compaction = other.compaction;
  }
}

std::vector<std::string> reasons_of(const Coverage& coverage) {
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : coverage.reasons)
    reasons.push_back(std::to_string(count.functions) + ' ' + std::string(sentence_of(reason)));
  return reasons;
}

std::vector<std::string> sentences_of(const DroppedFdes& dropped) {
  const std::pair<std::uint64_t, const char*> kinds[] = {
      {dropped.empty, " without bytes"},
      {dropped.outside_code, " of discarded or no code"},
      {dropped.duplicate, " said twice"},
      {dropped.shadowed, " of .debug_frame for what .eh_frame describes"},
      {dropped.of_go, " of Go's linker, whose .debug_frame is wrong"},
      {dropped.unreadable, " that cannot be read"},
  };
  std::vector<std::string> sentences;
  for (const auto& [count, what] : kinds) {
    if (count != 0) sentences.push_back(count_of(count, "FDE") + what);
  }
  return sentences;
}

std::string_view name_of(RowSource source) {
  constexpr std::array<std::string_view, 5> names{".eh_frame", ".debug_frame", ".gopclntab", "instructions",
                                                  "proved instructions"};
  const auto number = static_cast<std::size_t>(source);
  return number < names.size() ? names[number] : "unknown";
}

CodeCount& CodeCount::operator+=(const CodeCount& other) {
  bytes += other.bytes;
  padding += other.padding;
  without_cfi += other.without_cfi;
  without_row += other.without_row;
  return *this;
}

}  // namespace sframe_gen
