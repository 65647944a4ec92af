#include "encode/code_coverage.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "elf/symbol_names.hpp"
#include "encode/padding.hpp"
#include "encode/row_sources.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::encode {

namespace {

using rows::proof::Lack;

/// Whether `ranges` have `pc`; lowers `end` to where that changes.
bool holds(const RangeSet& ranges, std::uint64_t pc, std::uint64_t& end) {
  const auto found = ranges.find(pc);
  if (found == ranges.end()) return false;
  const bool inside = found->contains(pc);
  end = std::min(end, inside ? found->end : found->begin);
  return inside;
}

/// Why places have no row, where a proof of the instructions was asked for.
class Reasons {
 public:
  Reasons(const std::vector<NamedCoverageHole>& holes, const std::vector<Lack>* lacking) {
    if (lacking == nullptr) return;
    is_asked_ = true;
    lacking_ = *lacking;
    for (const NamedCoverageHole& named : holes)
      holes_.push_back({named.hole.begin, named.hole.end, key_of(named.hole.reason)});
    std::ranges::sort(holes_, {}, &Lack::begin);
  }

  void count(std::uint64_t begin, std::uint64_t end, bool has_cfi,
             std::map<std::string, std::uint64_t, std::less<>>& bytes) const {
    if (!is_asked_) return;
    const std::span<const Lack> reasons = has_cfi ? std::span<const Lack>(holes_) : lacking_;
    const std::string_view none = has_cfi ? "left-out" : "not-reached";
    auto next = std::ranges::upper_bound(reasons, begin, {}, &Lack::begin);
    if (next != reasons.begin()) --next;
    for (std::uint64_t pc = begin; pc < end;) {
      while (next != reasons.end() && next->end <= pc) ++next;
      const bool is_in = next != reasons.end() && next->begin <= pc;
      const std::uint64_t stop = next == reasons.end() ? end : std::min(end, is_in ? next->end : next->begin);
      const std::string_view reason = is_in ? next->reason : none;
      const auto known = bytes.find(reason);
      (known != bytes.end() ? known->second : bytes[std::string(reason)]) += stop - pc;
      pc = stop;
    }
  }

 private:
  bool is_asked_ = false;
  std::vector<Lack> holes_;        ///< in code that CFI describes
  std::span<const Lack> lacking_;  ///< in other code
};

class CodeCounter {
 public:
  CodeCounter(const elf::Image& image, RangeSet described, RangeSet with_rows, const RowSources& sources,
              const Reasons& reasons)
      : image_(image),
        abi_(elf::machine_of(image).abi),
        names_(image),
        section_names_(image.file_bytes().size()),
        described_(std::move(described)),
        with_rows_(std::move(with_rows)),
        sources_(sources),
        reasons_(reasons) {}

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
    if (place.without_row != 0) reasons_.count(place.begin, place.end, place.without_cfi == 0, code_.reasons);
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
    auto piece = std::ranges::upper_bound(sources_.pieces(), begin, {},
                                          [](const RowSources::Piece& one) { return one.pcs.end; });
    for (; piece != sources_.pieces().end() && piece->pcs.begin < end; ++piece) {
      const Range pcs{std::max(piece->pcs.begin, begin), std::min(piece->pcs.end, end)};
      std::uint64_t bytes = 0;
      for (auto rows = with_rows_.find(pcs.begin); rows != with_rows_.end() && rows->begin < pcs.end; ++rows)
        bytes += std::min(rows->end, pcs.end) - std::max(rows->begin, pcs.begin);
      if (bytes == 0) continue;
      CodeCoverage::Described& sum = code_.sources[piece->source];
      sum.records += piece->records;
      sum.bytes += bytes;
    }
  }

  const elf::Image& image_;
  sframe::Abi abi_;
  elf::SymbolNames names_;
  NameBudget section_names_;
  RangeSet described_, with_rows_;
  const RowSources& sources_;
  const Reasons& reasons_;
  CodeCount count_;        ///< of the section
  std::size_t first_ = 0;  ///< of the section's places
  CodeCoverage code_;
};

/// What a proof of the instructions gives rows has no record.
RangeSet described_by_records(const cfi::FrameSource& source) {
  std::vector<Range> described;
  for (const cfi::FrameSource::Record& record : source.records())
    if (record.source != RowSource::Proof) described.push_back(record.pcs);
  return RangeSet(std::move(described));
}

}  // namespace

CodeCoverage code_coverage(const elf::Image& image, const cfi::FrameSource& source, const rows::stubs::StubList& stubs,
                           const std::vector<NamedCoverageHole>& holes, const std::vector<rows::proof::Lack>* lacking) {
  const RangeSet described = described_by_records(source);
  std::vector<Range> with_rows = source.described().ranges(), without_rows;
  for (const rows::stubs::StubRun& run : stubs.runs) with_rows.push_back({run.start, run.end()});
  for (const NamedCoverageHole& named : holes) without_rows.push_back({named.hole.begin, named.hole.end});
  const RowSources sources(source, stubs);
  RangeSet rows = RangeSet(std::move(with_rows)).without(RangeSet(std::move(without_rows)));
  const Reasons reasons(holes, lacking);
  return CodeCounter(image, described, std::move(rows), sources, reasons).count();
}

}  // namespace sframe_gen::encode
