#include "convert/coverage.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "elf/load_lookup.hpp"
#include "elf/symbol_names.hpp"
#include "support/name_budget.hpp"
#include "support/text.hpp"

namespace sframe_gen {

Compaction& Compaction::operator+=(const Compaction& other) {
  default_bytes += other.default_bytes;
  default_descriptors += other.default_descriptors;
  default_rows += other.default_rows;
  bytes += other.bytes;
  by_fewer_descriptors += other.by_fewer_descriptors;
  by_fewer_rows += other.by_fewer_rows;
  by_row_starts += other.by_row_starts;
  by_sharing += other.by_sharing;
  least_bytes += other.least_bytes;
  return *this;
}

void Coverage::append(const Coverage& other) {
  functions += other.functions;
  whole += other.whole;
  in_part += other.in_part;
  left_out += other.left_out;
  described_bytes += other.described_bytes;
  covered_bytes += other.covered_bytes;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    reasons[i].functions += other.reasons[i].functions;
    reasons[i].bytes += other.reasons[i].bytes;
  }
  holes.insert(holes.end(), other.holes.begin(), other.holes.end());
  dropped.duplicate += other.dropped.duplicate;
  stubs.entries += other.stubs.entries;
  stubs.bytes += other.stubs.bytes;
  stubs.bytes_without_cfi += other.stubs.bytes_without_cfi;
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
  for (std::size_t i = 0; i < coverage.reasons.size(); ++i) {
    if (coverage.reasons[i].functions == 0) continue;
    reasons.push_back(std::to_string(coverage.reasons[i].functions) + ' ' +
                      std::string(sentence_of(static_cast<Unrepresentable>(i))));
  }
  return reasons;
}

std::vector<std::string> sentences_of(const DroppedFdes& dropped) {
  const std::pair<std::uint64_t, const char*> kinds[] = {
      {dropped.empty, " without bytes"},
      {dropped.outside_code, " of discarded or no code"},
      {dropped.duplicate, " said twice"},
      {dropped.shadowed, " of .debug_frame for what .eh_frame describes"},
      {dropped.unreadable, " that cannot be read"},
  };
  std::vector<std::string> sentences;
  for (const auto& [count, what] : kinds) {
    if (count != 0) sentences.push_back(count_of(count, "FDE") + what);
  }
  return sentences;
}

}  // namespace sframe_gen

namespace sframe_gen::convert {

namespace {

void count_holes(const std::vector<Hole>& holes, Coverage& coverage) {
  if (holes.empty()) return;
  std::set<Unrepresentable> seen;
  for (const Hole& hole : holes) {
    Coverage::ReasonCount& reason = coverage.reasons[static_cast<std::size_t>(hole.reason)];
    if (seen.insert(hole.reason).second) ++reason.functions;
    reason.bytes += hole.end - hole.begin;
    coverage.holes.push_back({hole, {}, {}});
  }
}

void count_descriptors(const std::vector<emit::NumberedFde>& fdes, Coverage& coverage) {
  for (const emit::NumberedFde& fde : fdes) {
    ++(fde.pc_type == sframe::PcType::Mask     ? coverage.mask_descriptors
       : fde.type == sframe::FdeType::Flexible ? coverage.flexible_descriptors
                                               : coverage.default_descriptors);
    coverage.rows += fde.fres.size();
  }
}

}  // namespace

void count(std::uint64_t size, const emit::Selected& selected, Coverage& coverage) {
  ++coverage.functions;
  ++(selected.holes.empty() ? coverage.whole : selected.fdes.empty() ? coverage.left_out : coverage.in_part);
  coverage.described_bytes += size;
  coverage.covered_bytes += size;
  for (const Hole& hole : selected.holes) coverage.covered_bytes -= hole.end - hole.begin;
  count_holes(selected.holes, coverage);
  count_descriptors(selected.fdes, coverage);
}

void count_stubs(const stubs::Run& run, const emit::Selected& selected, Coverage& coverage) {
  coverage.stubs.entries += run.entries;
  coverage.stubs.bytes += run.size;
  coverage.stubs.bytes_without_cfi += run.size;
  count_holes(selected.holes, coverage);
  count_descriptors(selected.fdes, coverage);
}

namespace {

/// Allocated sections that have bytes or room, by address.
std::vector<const elf::Section*> loaded_sections(const elf::Image& image) {
  std::vector<const elf::Section*> sections;
  for (const elf::Section& section : image.sections())
    if ((section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_size != 0) sections.push_back(&section);
  std::ranges::stable_sort(sections, {}, [](const elf::Section* section) { return section->header.sh_addr; });
  return sections;
}

}  // namespace

void name_holes(Coverage& coverage, const elf::Image& image) {
  if (coverage.holes.empty() && coverage.contradictions.empty()) return;
  std::vector<std::uint64_t> addresses;
  for (const Contradiction& contradiction : coverage.contradictions) addresses.push_back(contradiction.begin);
  for (const NamedHole& named : coverage.holes) addresses.push_back(named.hole.begin);
  elf::SymbolNames names(image, std::move(addresses));
  for (Contradiction& contradiction : coverage.contradictions)
    contradiction.function = names.name_at(contradiction.begin);
  for (NamedHole& named : coverage.holes) named.function = names.name_at(named.hole.begin);
  if (!image.is_object()) return;
  // The addresses are our own, and no two sections share one: people know places by section.
  NameBudget section_names(image.file_bytes().size());
  const auto sections = loaded_sections(image);
  for (NamedHole& named : coverage.holes) {
    const auto after = std::ranges::upper_bound(sections, named.hole.begin, {},
                                                [](const elf::Section* section) { return section->header.sh_addr; });
    if (after == sections.begin() || !elf::holds_address((*std::prev(after))->header, named.hole.begin)) continue;
    const elf::Section& section = **std::prev(after);
    if (section_names.take(section.name.size())) named.section = section.name;
    named.hole.begin -= section.header.sh_addr;
    named.hole.end -= section.header.sh_addr;
  }
}

std::string why_no_function(const Coverage& coverage) {
  std::vector<std::string> sentences = sentences_of(coverage.dropped);
  for (std::string& reason : reasons_of(coverage)) sentences.push_back(std::move(reason));
  return "has no function that SFrame could describe" + in_parentheses(sentences);
}

}  // namespace sframe_gen::convert
