#include "emit/split_functions.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace sframe_gen::emit {

namespace {

/// Collects descriptors and holes while the rows of a function go by in order.
class Splitter {
 public:
  Splitter(const cfi::Function& function, RuleTranslations& translations, SplitFunction& result)
      : function_(function),
        translations_(translations),
        dialect_(translations.encoded_rules().dialect()),
        result_(result) {
    if (!result.fdes.empty()) spare_rows_ = std::move(result.fdes.front().rows);
    result.fdes.clear();
    result.holes.clear();
  }

  void run() {
    // Without the mark a tracer would look one byte before the interrupted instruction.
    if (function_.signal_frame && !dialect_.version->marks_signal_frames)
      return add_hole(function_.start, function_.end(), Unrepresentable::SignalFrame);
    if (function_.repeat_size == 0) {
      if (!add_whole()) add_block(function_.start, function_.end());
    } else if (!add_repeating()) {
      for (std::uint64_t offset = 0; offset < function_.size; offset += function_.repeat_size)
        add_block(function_.start + offset, function_.start + std::min(offset + function_.repeat_size, function_.size));
    }
    close();
  }

 private:
  /// Each row once, from `start` on.
  void add_block(std::uint64_t start, std::uint64_t block_end) {
    for (std::size_t i = 0; i < function_.rows.size(); ++i) {
      const std::uint64_t begin = start + function_.rows[i].pc_offset;
      const bool last = i + 1 == function_.rows.size();
      const std::uint64_t end = last ? block_end : std::min(start + function_.rows[i + 1].pc_offset, block_end);
      if (begin < end) add(begin, end, function_.rows[i].rule);
    }
  }

  /// As one descriptor, if SFrame can represent each row: what becomes of nearly all functions.
  bool add_whole() {
    if (function_.rows.size() > dialect_.most_rows || function_.rows.back().pc_offset >= function_.size) return false;
    open(function_.start);
    std::vector<EncodedRow>& rows = open_->rows;
    rows.resize(function_.rows.size());
    EncodedRow* next = rows.data();
    EncodedRuleId last = EncodedRules::none;
    for (const cfi::Row& row : function_.rows) {
      const auto* const encoded = std::get_if<SingleRow>(&translations_.of(row.rule));
      if (encoded == nullptr) {
        open_.reset();
        return false;
      }
      if (!encoded->fits_default) open_->type = sframe::FdeType::Flexible;
      // Different rules of DWARF may have the same bytes: the next row then takes this one's place.
      *next = {row.pc_offset, encoded->rule};
      next += encoded->rule != last ? 1 : 0;
      last = encoded->rule;
    }
    rows.resize(static_cast<std::size_t>(next - rows.data()));
    grow_to(function_.end());
    return true;
  }

  /// As one descriptor that repeats, if the version has one and all rows have data words.
  bool add_repeating() {
    if (!dialect_.version->has_repeat_size) return false;
    open(function_.start);
    grow_to(function_.end());
    open_->pc_type = sframe::PcType::Mask;
    open_->repeat_size = function_.repeat_size;
    for (const cfi::Row& row : function_.rows) {
      const auto* const encoded = std::get_if<SingleRow>(&translations_.of(row.rule));
      if (encoded == nullptr || encoded->is_outermost) {
        open_.reset();
        return false;
      }
      if (!encoded->fits_default) open_->type = sframe::FdeType::Flexible;
      // A row may not start past the function's end.
      if (row.pc_offset < function_.size) open_->rows.push_back({row.pc_offset, encoded->rule});
    }
    return true;
  }

  void add(std::uint64_t begin, std::uint64_t end, cfi::RuleId rule) {
    const TranslatedRule& translated = translations_.of(rule);
    if (const auto* const reason = std::get_if<Unrepresentable>(&translated)) return add_hole(begin, end, *reason);
    if (const auto* const plt = std::get_if<PltRows>(&translated)) return add_plt_entries(begin, end, *plt);
    const auto& row = std::get<SingleRow>(translated);
    add_row(begin, end, row.rule);
    if (!row.fits_default) open_->type = sframe::FdeType::Flexible;
  }

  void add_hole(std::uint64_t begin, std::uint64_t end, Unrepresentable reason) {
    close();
    const bool continues =
        !result_.holes.empty() && result_.holes.back().end == begin && result_.holes.back().reason == reason;
    if (continues) {
      result_.holes.back().end = end;
    } else {
      result_.holes.push_back({begin, end, reason});
    }
  }

  void add_row(std::uint64_t begin, std::uint64_t end, EncodedRuleId rule) {
    if (open_ && open_->rows.size() == dialect_.most_rows) close();
    if (!open_) open(begin);
    // Different rules of DWARF may have the same bytes.
    if (open_->rows.empty() || open_->rows.back().rule != rule)
      open_->rows.push_back({static_cast<std::uint32_t>(begin - open_->start), rule});
    grow_to(end);
  }

  /// Each 16-byte entry unwinds alike: sp+8 before its push, sp+16 after.
  void add_plt_entries(std::uint64_t begin, std::uint64_t end, const PltRows& plt) {
    // DWARF looks at the low bits of rip, SFrame at the distance from the descriptor's start: the two agree only when
    // the start is a multiple of 16. Up to version 1 row starts are bit masks, which fit by chance at best.
    const bool repeats = dialect_.version->has_repeat_size && begin % cfi::plt_entry_size == 0;
    if (!repeats) return write_out_plt_entries(begin, end, plt);
    close();
    open(begin);
    grow_to(end);
    open_->pc_type = sframe::PcType::Mask;
    open_->repeat_size = cfi::plt_entry_size;
    open_->rows = {{0, plt.before}};
    // A table cut off before the push has no second row: a row may not start past the function's end.
    if (open_->size > plt.threshold) open_->rows.push_back({plt.threshold, plt.after});
    close();
  }

  void write_out_plt_entries(std::uint64_t begin, std::uint64_t end, const PltRows& plt) {
    // No linker writes a table of a million entries; it would take as many rows, twice.
    constexpr std::uint64_t largest_table = 16U << 20U;
    if (end - begin > largest_table) return add_hole(begin, end, Unrepresentable::CfaIsExpression);
    while (begin < end) {
      const std::uint64_t entry = begin - begin % cfi::plt_entry_size;
      const bool pushed = begin - entry >= plt.threshold;
      const std::uint64_t next = std::min(end, entry + (pushed ? cfi::plt_entry_size : plt.threshold));
      add_row(begin, next, pushed ? plt.after : plt.before);  // which fit a default descriptor
      begin = next;
    }
  }

  void open(std::uint64_t begin) {
    open_.emplace();
    open_->start = begin;
    open_->signal_frame = function_.signal_frame;
    // 'B' in an augmentation means nothing on machines that sign no return address.
    open_->b_key = function_.b_key && dialect_.abi->signs_return_address && dialect_.version->has_mangled_ra;
    open_->rows = std::move(spare_rows_);
    open_->rows.clear();
  }

  void grow_to(std::uint64_t end) {
    assert(end - open_->start <= std::numeric_limits<std::uint32_t>::max());
    open_->size = static_cast<std::uint32_t>(end - open_->start);
  }

  void close() {
    if (!open_) return;
    result_.fdes.push_back(std::move(*open_));
    open_.reset();
  }

  const cfi::Function& function_;
  RuleTranslations& translations_;
  const Dialect& dialect_;
  SplitFunction& result_;
  std::vector<EncodedRow> spare_rows_;
  std::optional<FdeRows> open_;
};

}  // namespace

void split_function(const cfi::Function& function, RuleTranslations& translations, SplitFunction& result) {
  Splitter(function, translations, result).run();
}

}  // namespace sframe_gen::emit
