#include "emit/split_functions.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace sframe_gen::emit {

namespace {

using Form = RuleTable::Form;
using Words = RuleTable::Words;

/// Collects descriptors and holes while the rows of a function go by in order.
class Splitter {
 public:
  Splitter(const cfi::Function& function, RuleTable& rules, SplitFunction& result)
      : function_(function), rules_(rules), dialect_(rules.dialect()), result_(result) {
    if (!result.fdes.empty()) spare_fres_ = std::move(result.fdes.front().fres);
    result.fdes.clear();
    result.holes.clear();
  }

  void run() {
    // Without the mark a tracer would look one byte before the interrupted instruction.
    if (function_.signal_frame && !dialect_.version->marks_signal_frames)
      return add_hole(function_.start, function_.start + function_.size, Unrepresentable::SignalFrame);
    if (function_.repeat_size == 0) {
      if (!add_whole()) add_block(function_.start, function_.start + function_.size);
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

  /// As one descriptor, if all rows have a form: what becomes of nearly all functions.
  bool add_whole() {
    if (function_.size > largest_size || function_.rows.size() > dialect_.version->largest_fre_count ||
        function_.rows.back().pc_offset >= function_.size)
      return false;
    open(function_.start);
    open_->size = static_cast<std::uint32_t>(function_.size);
    if (lower_rows(open_->fres, open_->type)) return true;
    open_.reset();
    return false;
  }

  /// Gives false where a row has no form.
  bool lower_rows(std::vector<cfi::Row>& fres, sframe::FdeType& type) {
    fres.resize(function_.rows.size());
    cfi::Row* next = fres.data();
    RuleId last = RuleTable::no_rule;
    for (const cfi::Row& row : function_.rows) {
      const Words& words = rules_.words(row.rule);
      if (words.form < Form::Outermost) return false;
      if (words.form == Form::Flexible) type = sframe::FdeType::Flexible;
      // Different rules of DWARF may say the same in SFrame: the next row then takes this one's place.
      *next = {row.pc_offset, words.first};
      next += words.first != last ? 1 : 0;
      last = words.first;
    }
    fres.resize(static_cast<std::size_t>(next - fres.data()));
    return true;
  }

  /// As one descriptor that repeats, if the version has one and all rows have a form.
  bool add_repeating() {
    if (!dialect_.version->has_repeat_size || function_.size > largest_size) return false;
    open(function_.start);
    open_->size = static_cast<std::uint32_t>(function_.size);
    open_->pc_type = sframe::PcType::Mask;
    open_->repeat_size = function_.repeat_size;
    for (const cfi::Row& row : function_.rows) {
      const Words& words = rules_.words(row.rule);
      if (words.form < Form::Default) {
        open_.reset();
        return false;
      }
      if (words.form == Form::Flexible) open_->type = sframe::FdeType::Flexible;
      // A row may not start past the function's end.
      if (row.pc_offset < function_.size) open_->fres.push_back({row.pc_offset, words.first});
    }
    return true;
  }

  void add(std::uint64_t begin, std::uint64_t end, RuleId rule) {
    const Words& words = rules_.words(rule);
    if (words.form == Form::None) return add_hole(begin, end, words.obstacle);
    if (words.form == Form::PltEntries) return add_plt_entries(begin, end, std::get<cfi::PltStub>(rules_[rule].cfa));
    add_fre(begin, end, words.first, words.form != Form::Flexible);
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

  void add_fre(std::uint64_t begin, std::uint64_t end, RuleId rule, bool fits_default) {
    // A row of more than 4 GiB goes to as many descriptors as it takes.
    while (begin < end) {
      if (open_ && (open_->fres.size() == dialect_.version->largest_fre_count || begin - open_->start >= largest_size))
        close();
      if (!open_) open(begin);
      // The sum may not fit: Linux for x86-64 runs in the last 2 GiB of the address space.
      const std::uint64_t reach = end - open_->start > largest_size ? open_->start + largest_size : end;
      // Different rules of DWARF may say the same in SFrame.
      if (open_->fres.empty() || open_->fres.back().rule != rule)
        open_->fres.push_back({static_cast<std::uint32_t>(begin - open_->start), rule});
      if (!fits_default) open_->type = sframe::FdeType::Flexible;
      open_->size = static_cast<std::uint32_t>(reach - open_->start);
      begin = reach;
    }
  }

  /// Each 16-byte entry unwinds alike: sp+8 before its push, sp+16 after.
  void add_plt_entries(std::uint64_t begin, std::uint64_t end, const cfi::PltStub& stub) {
    // lower() lets a stub through only where all else is as at a function's entry.
    const auto rule = [&](std::int64_t cfa_offset) {
      const cfi::Formula return_address{std::nullopt, dialect_.abi->fixed_ra_offset, true};
      return rules_.words(rules_.intern({cfi::Formula{stub.base, cfa_offset, false}, {}, {}, return_address})).first;
    };
    const RuleId before = rule(stub.offset), after = rule(stub.offset + cfi::plt_push_size);
    // DWARF looks at the low bits of rip, SFrame at the distance from the descriptor's start: the two agree only when
    // the start is a multiple of 16. Up to version 1 row starts are bit masks, which fit by chance at best.
    const bool repeats =
        dialect_.version->has_repeat_size && begin % cfi::plt_entry_size == 0 && end - begin <= largest_size;
    if (!repeats) return write_out_plt_entries(begin, end, stub.threshold, before, after);
    close();
    open(begin);
    open_->size = static_cast<std::uint32_t>(end - begin);
    open_->pc_type = sframe::PcType::Mask;
    open_->repeat_size = cfi::plt_entry_size;
    open_->fres = {{0, before}};
    // A table cut off before the push has no second row: a row may not start past the function's end.
    if (open_->size > stub.threshold) open_->fres.push_back({stub.threshold, after});
    close();
  }

  void write_out_plt_entries(std::uint64_t begin, std::uint64_t end, std::uint8_t threshold, RuleId before,
                             RuleId after) {
    // No linker writes a table of a million entries; it would take as many rows, twice.
    constexpr std::uint64_t largest_table = 16U << 20U;
    if (end - begin > largest_table) return add_hole(begin, end, Unrepresentable::CfaIsExpression);
    while (begin < end) {
      const std::uint64_t entry = begin - begin % cfi::plt_entry_size;
      const bool pushed = begin - entry >= threshold;
      const std::uint64_t next = std::min(end, entry + (pushed ? cfi::plt_entry_size : threshold));
      add_fre(begin, next, pushed ? after : before, true);  // lower() asks that of a stub
      begin = next;
    }
  }

  void open(std::uint64_t begin) {
    open_.emplace();
    open_->start = begin;
    open_->signal_frame = function_.signal_frame;
    // 'B' in an augmentation means nothing on machines that sign no return address.
    open_->b_key = function_.b_key && dialect_.abi->signs_return_address && dialect_.version->has_mangled_ra;
    open_->fres = std::move(spare_fres_);
    open_->fres.clear();
  }

  void close() {
    if (!open_) return;
    result_.fdes.push_back(std::move(*open_));
    open_.reset();
  }

  static constexpr std::uint64_t largest_size = std::numeric_limits<std::uint32_t>::max();

  const cfi::Function& function_;
  RuleTable& rules_;
  const Dialect& dialect_;
  SplitFunction& result_;
  std::vector<cfi::Row> spare_fres_;
  std::optional<NumberedFde> open_;
};

}  // namespace

void split_function(const cfi::Function& function, RuleTable& rules, SplitFunction& result) {
  Splitter(function, rules, result).run();
}

}  // namespace sframe_gen::emit
