#include "convert/code_coverage.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "elf/alignment.hpp"
#include "elf/machine.hpp"
#include "elf/symbol_names.hpp"
#include "emit/compact/padding.hpp"

namespace sframe_gen {

CodeCount& CodeCount::operator+=(const CodeCount& other) {
  bytes += other.bytes;
  padding += other.padding;
  without_cfi += other.without_cfi;
  without_row += other.without_row;
  return *this;
}

}  // namespace sframe_gen

namespace sframe_gen::convert {

namespace {

using Range = cfi::FrameSource::Range;
using Ranges = std::vector<Range>;  // ascending, disjoint, no two touch

Ranges joined(Ranges ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  Ranges result;
  for (const Range& range : ranges) {
    if (range.begin >= range.end) continue;
    if (result.empty() || range.begin > result.back().end) result.push_back(range);
    result.back().end = std::max(result.back().end, range.end);
  }
  return result;
}

/// `ranges` without `holes`.
Ranges without(const Ranges& ranges, const Ranges& holes) {
  Ranges result;
  for (const Range& range : ranges) {
    std::uint64_t begin = range.begin;
    auto hole = std::ranges::upper_bound(holes, begin, {}, &Range::end);
    for (; hole != holes.end() && hole->begin < range.end; ++hole) {
      if (hole->begin > begin) result.push_back({begin, hole->begin});
      begin = hole->end;
    }
    if (begin < range.end) result.push_back({begin, range.end});
  }
  return result;
}

/// Whether `ranges` have `pc`; lowers `end` to where that changes.
bool holds(const Ranges& ranges, std::uint64_t pc, std::uint64_t& end) {
  const auto found = std::ranges::upper_bound(ranges, pc, {}, &Range::end);
  if (found == ranges.end()) return false;
  const bool inside = found->begin <= pc;
  end = std::min(end, inside ? found->end : found->begin);
  return inside;
}

class CodeCounter {
 public:
  CodeCounter(const elf::Image& image, Ranges described, Ranges with_rows)
      : image_(image),
        abi_(elf::machine_of(image).abi),
        names_(image),
        described_(std::move(described)),
        with_rows_(std::move(with_rows)) {}

  CodeCoverage count() {
    for (const elf::Section& section : image_.sections())
      if (image_.is_code(section)) count(section);
    return std::move(code_);
  }

 private:
  void count(const elf::Section& section) {
    const std::uint64_t begin = section.header.sh_addr;
    const std::uint64_t end = begin + section.header.sh_size;
    count_ = {section.header.sh_size, 0, 0, 0};
    const std::size_t first = code_.places.size();
    for (std::uint64_t pc = begin; pc < end;) {
      std::uint64_t next = end;
      const bool has_cfi = holds(described_, pc, next);
      const bool has_row = holds(with_rows_, pc, next);
      if (!has_cfi || !has_row) count(section, {pc, next}, has_cfi, has_row);
      pc = next;
    }
    if (image_.is_object()) {
      for (std::size_t i = first; i < code_.places.size(); ++i) {
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
        const std::uint64_t padding = emit::compact::padding_before(rest, abi_, !image_.is_object());
        count_.padding += padding;
        pc += padding;
        end = pc + code_before_zeros(rest.subspan(padding));
        if (pc == end) continue;
      }
      add({section.name, symbol ? symbol->name : std::string(), pc, end, has_cfi ? 0 : end - pc,
           has_row ? 0 : end - pc});
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

  void add(CodeCoverage::Place place) {
    count_.without_cfi += place.without_cfi;
    count_.without_row += place.without_row;
    CodeCoverage::Place* const last = code_.places.empty() ? nullptr : &code_.places.back();
    if (last != nullptr && last->end == place.begin && last->section == place.section &&
        last->function == place.function) {
      last->end = place.end;
      last->without_cfi += place.without_cfi;
      last->without_row += place.without_row;
      return;
    }
    code_.places.push_back(std::move(place));
  }

  const elf::Image& image_;
  sframe::Abi abi_;
  elf::SymbolNames names_;
  Ranges described_, with_rows_;
  CodeCount count_;  ///< of the section
  CodeCoverage code_;
};

}  // namespace

CodeCoverage code_coverage(const elf::Image& image, const cfi::FrameSource& source, const stubs::Found& stubs,
                           const std::vector<NamedHole>& holes) {
  const Ranges described = source.described();
  Ranges with_rows = described, without_rows;
  for (const stubs::Run& run : stubs.runs) with_rows.push_back({run.start, run.end()});
  for (const NamedHole& named : holes) without_rows.push_back({named.hole.begin, named.hole.end});
  return CodeCounter(image, described, without(joined(std::move(with_rows)), joined(std::move(without_rows)))).count();
}

}  // namespace sframe_gen::convert
