#include "convert/coverage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "convert/go_functions.hpp"
#include "convert/padding.hpp"
#include "convert/stub_merge.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "elf/symbol_names.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// In hex with 0x, or else decimal.
std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return number;
}

}  // namespace

AddressNames::AddressNames(const elf::Image& image) : image_(image), names_(image) {
  if (image.is_object()) sections_.emplace(image);
}

std::string AddressNames::symbol_at(std::uint64_t address) {
  const std::optional<elf::SymbolNames::Named> found = names_.symbol_at(address);
  if (!found) return {};
  return address == found->begin ? found->name : found->name + "+" + hex(address - found->begin);
}

std::optional<RowSource> AddressNames::source_at(std::uint64_t address, std::uint64_t start) {
  if (!sources_) {
    try {
      const cfi::FrameSource source(image_, image_, go_functions_of(image_));
      sources_.emplace(source, without_code_of_functions(stubs::find_stubs(image_), source));
    } catch (const Failure&) {
      sources_.emplace();  // the section may be read all the same
    }
  }
  return sources_->at(address, start);
}

std::string AddressNames::text_of(std::uint64_t address) const {
  const elf::Section* const section = sections_ ? sections_->find(address) : nullptr;
  return section == nullptr ? hex(address) : section->name + "+" + hex(address - section->header.sh_addr);
}

std::optional<Range> AddressNames::named(std::string_view name) {
  // Section 0 has no name either, and is no place.
  if (name.empty()) return {};
  if (const auto symbol = names_.find(name)) return Range{symbol->begin, symbol->end};
  const elf::Section* const section = image_.find_section(name);
  if (section == nullptr) return {};
  return Range{section->header.sh_addr, section->header.sh_addr + section->header.sh_size};
}

std::optional<Range> AddressNames::single(std::string_view place) {
  if (const auto address = number_of(place)) return Range{*address, *address + 1};
  // Names may have a plus sign in them, so the whole comes first.
  if (const auto whole = named(place)) return whole;
  const auto plus = place.rfind('+');
  const auto offset = plus == std::string_view::npos ? std::nullopt : number_of(place.substr(plus + 1));
  const auto base = offset ? named(place.substr(0, plus)) : std::nullopt;
  if (!base) return {};
  return Range{base->begin + *offset, base->begin + *offset + 1};
}

/// Names may have dots in them too: rustc's "_ZN4core3ops..Fn", where colons would stand.
std::optional<Range> AddressNames::between_two(std::string_view place) {
  for (auto dots = place.find(".."); dots != std::string_view::npos; dots = place.find("..", dots + 1)) {
    const auto begin = single(place.substr(0, dots));
    const auto end = begin ? single(place.substr(dots + 2)) : std::nullopt;
    if (end) return Range{begin->begin, end->begin};
  }
  return {};
}

Range AddressNames::range_of(std::string_view place) {
  if (const auto found = single(place)) return *found;
  const auto range = between_two(place);
  if (!range) throw Refused(image_.name(), "no symbol or section '" + std::string(place) + "'");
  if (range->end <= range->begin)
    throw Refused(image_.name(), "nothing in '" + std::string(place) + "', which ends before it begins");
  return *range;
}

std::uint64_t AddressNames::address_of(std::string_view place) {
  if (const auto found = single(place)) return found->begin;
  if (between_two(place)) throw Refused(image_.name(), "'" + std::string(place) + "' is a range, not a location");
  throw Refused(image_.name(), "no symbol or section '" + std::string(place) + "'");
}

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

void count_descriptors(const std::vector<emit::Fde>& fdes, Coverage& coverage) {
  for (const emit::Fde& fde : fdes) {
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

void count_stubs(const stubs::Run& run, const emit::SplitFunction& split, Coverage& coverage) {
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

namespace {

/// Whether `ranges` have `pc`; lowers `end` to where that changes.
bool holds(const RangeSet& ranges, std::uint64_t pc, std::uint64_t& end) {
  const auto found = ranges.find(pc);
  if (found == ranges.end()) return false;
  const bool inside = found->contains(pc);
  end = std::min(end, inside ? found->end : found->begin);
  return inside;
}

class CodeCounter {
 public:
  CodeCounter(const elf::Image& image, RangeSet described, RangeSet with_rows, const RowSources& sources)
      : image_(image),
        abi_(elf::machine_of(image).abi),
        names_(image),
        section_names_(image.file_bytes().size()),
        described_(std::move(described)),
        with_rows_(std::move(with_rows)),
        sources_(sources) {}

  CodeCoverage count() {
    for (const elf::Section& section : image_.sections())
      if (image_.is_code(section)) {
        count(section);
        count_sources(section);
      }
    return std::move(code_);
  }

 private:
  void count(const elf::Section& section) {
    const std::uint64_t begin = section.header.sh_addr;
    const std::uint64_t end = begin + section.header.sh_size;
    count_ = {section.header.sh_size, 0, 0, 0};
    first_ = code_.places.size();
    for (std::uint64_t pc = begin; pc < end;) {
      std::uint64_t next = end;
      const bool has_cfi = holds(described_, pc, next);
      const bool has_row = holds(with_rows_, pc, next);
      if (!has_cfi || !has_row) count(section, {pc, next}, has_cfi, has_row);
      pc = next;
    }
    if (image_.is_object()) {
      for (std::size_t i = first_; i < code_.places.size(); ++i) {
        code_.places[i].begin -= begin;
        code_.places[i].end -= begin;
      }
    }
    code_.all += count_;
    code_.sections.push_back({section.name, count_});
  }

  /// A stretch that is described alike, function by function.
  void count(const elf::Section& section, Range stretch, bool has_cfi, bool has_row) {
    const auto code =
        image_.bytes_of(section).subspan(stretch.begin - section.header.sh_addr, stretch.end - stretch.begin);
    for (std::uint64_t pc = stretch.begin; pc < stretch.end;) {
      auto symbol = names_.symbol_at(pc);
      // Where these stand, aarch64's code begins, and not a function.
      if (symbol && symbol->name.starts_with('$')) symbol.reset();
      std::uint64_t end = std::min(stretch.end, names_.begin_after(pc));
      // Assembly often gives no size.
      const bool has_size = symbol && symbol->end - symbol->begin > 1;
      if (has_size) end = std::min(end, symbol->end);
      if (!has_cfi && !has_row && !symbol) {
        const auto rest = code.subspan(pc - stretch.begin, end - pc);
        const std::uint64_t padding = padding_before(rest, abi_, !image_.is_object());
        count_.padding += padding;
        pc += padding;
        end = pc + code_before_zeros(rest.subspan(padding));
        if (pc == end) continue;
      }
      add(section,
          {{}, symbol ? symbol->name : std::string(), pc, end, has_cfi ? 0 : end - pc, has_row ? 0 : end - pc});
      pc = end;
    }
  }

  /// Bytes up to so many zeros that no code has: GNU ld makes 4 KiB of a few veneers for an erratum of Cortex-A53.
  std::uint64_t code_before_zeros(std::span<const std::byte> code) const {
    constexpr std::array<std::byte, 16> zeros{};
    constexpr std::uint64_t longest_alignment = 4;  // of instructions, which may end in zeros
    const auto found =
        image_.is_object() ? code.end() : std::search(code.begin(), code.end(), zeros.begin(), zeros.end());
    const auto size = static_cast<std::uint64_t>(found - code.begin());
    return std::min<std::uint64_t>(elf::align_up(size, longest_alignment), code.size());
  }

  void add(const elf::Section& section, CodeCoverage::Place place) {
    count_.without_cfi += place.without_cfi;
    count_.without_row += place.without_row;
    CodeCoverage::Place* const last = code_.places.size() == first_ ? nullptr : &code_.places.back();
    if (last != nullptr && last->end == place.begin && last->function == place.function) {
      last->end = place.end;
      last->without_cfi += place.without_cfi;
      last->without_row += place.without_row;
      return;
    }
    place.section = name_of(section);
    code_.places.push_back(std::move(place));
  }

  /// For a report, which gets no more names once these are longer than any real ones.
  std::string name_of(const elf::Section& section) {
    return section_names_.take(section.name.size()) ? section.name : std::string();
  }

  /// What the section's rows are made from.
  void count_sources(const elf::Section& section) {
    const std::uint64_t begin = section.header.sh_addr, end = begin + section.header.sh_size;
    const std::uint64_t origin = image_.is_object() ? begin : 0;
    CodeCoverage::Stretch* open = nullptr;
    auto piece = std::ranges::upper_bound(sources_.pieces(), begin, {},
                                          [](const RowSources::Piece& one) { return one.pcs.end; });
    for (; piece != sources_.pieces().end() && piece->pcs.begin < end; ++piece) {
      const Range pcs{std::max(piece->pcs.begin, begin), std::min(piece->pcs.end, end)};
      std::uint64_t bytes = 0;
      for (auto rows = with_rows_.find(pcs.begin); rows != with_rows_.end() && rows->begin < pcs.end; ++rows)
        bytes += std::min(rows->end, pcs.end) - std::max(rows->begin, pcs.begin);
      if (bytes == 0) continue;
      if (open == nullptr || open->source != piece->source)
        open = &code_.stretches.emplace_back(
            CodeCoverage::Stretch{name_of(section), pcs.begin - origin, 0, piece->source, {}});
      open->end = pcs.end - origin;
      for (CodeCoverage::Described* const sum : {&open->described, &code_.sources[piece->source]}) {
        sum->records += piece->records;
        sum->bytes += bytes;
      }
    }
  }

  const elf::Image& image_;
  sframe::Abi abi_;
  elf::SymbolNames names_;
  NameBudget section_names_;
  RangeSet described_, with_rows_;
  const RowSources& sources_;
  CodeCount count_;        ///< of the section
  std::size_t first_ = 0;  ///< of the section's places
  CodeCoverage code_;
};

}  // namespace

CodeCoverage code_coverage(const elf::Image& image, const cfi::FrameSource& source, const stubs::Found& stubs,
                           const std::vector<NamedCoverageHole>& holes) {
  const RangeSet described = source.described();
  std::vector<Range> with_rows = described.ranges(), without_rows;
  for (const stubs::Run& run : stubs.runs) with_rows.push_back({run.start, run.end()});
  for (const NamedCoverageHole& named : holes) without_rows.push_back({named.hole.begin, named.hole.end});
  const RowSources sources(source, stubs);
  RangeSet rows = RangeSet(std::move(with_rows)).without(RangeSet(std::move(without_rows)));
  return CodeCounter(image, described, std::move(rows), sources).count();
}

}  // namespace sframe_gen::convert

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
  constexpr std::array<std::string_view, 4> names{".eh_frame", ".debug_frame", ".gopclntab", "instructions"};
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
