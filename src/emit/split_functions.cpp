#include "emit/split_functions.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace sframe_gen::emit {

namespace {

using Row = LoweredRules::Row;

/// Collects descriptors and holes while the rows of a function go by in order.
class Splitter {
 public:
  /// `selected` holds the result of another function, whose memory is used again.
  Splitter(const cfi::NumberedFrames& frames, const Dialect& dialect, LoweredRules& rules, Selected& selected)
      : frames_(frames), dialect_(dialect), rules_(rules), selected_(selected) {
    if (!selected.fdes.empty()) spare_fres_ = std::move(selected.fdes.front().fres);
    selected.fdes.clear();
    selected.holes.clear();
  }

  void run() {
    // Without the mark a tracer would look one byte before the interrupted instruction.
    if (frames_.signal_frame && !dialect_.version->marks_signal_frames)
      return add_hole(frames_.start, frames_.start + frames_.size, Unrepresentable::SignalFrame);
    if (frames_.repeat_size == 0) {
      if (!add_whole()) add_block(frames_.start, frames_.start + frames_.size);
    } else if (!add_repeating()) {
      for (std::uint64_t offset = 0; offset < frames_.size; offset += frames_.repeat_size)
        add_block(frames_.start + offset, frames_.start + std::min(offset + frames_.repeat_size, frames_.size));
    }
    close();
  }

 private:
  /// Each row once, from `start` on.
  void add_block(std::uint64_t start, std::uint64_t block_end) {
    for (std::size_t i = 0; i < frames_.rows.size(); ++i) {
      const std::uint64_t begin = start + frames_.rows[i].pc_offset;
      const bool last = i + 1 == frames_.rows.size();
      const std::uint64_t end = last ? block_end : std::min(start + frames_.rows[i + 1].pc_offset, block_end);
      if (begin < end) add(begin, end, frames_.rows[i].rules);
    }
  }

  /// As one descriptor, if all rows have a form: what becomes of nearly all functions.
  bool add_whole() {
    if (frames_.size > largest_size || frames_.rows.size() > dialect_.version->largest_fre_count ||
        frames_.rows.back().pc_offset >= frames_.size)
      return false;
    open(frames_.start);
    open_->size = static_cast<std::uint32_t>(frames_.size);
    if (lower_rows(open_->fres, open_->type)) return true;
    open_.reset();
    return false;
  }

  /// Each row once, by the million. Gives false where one has no form.
  bool lower_rows(std::vector<NumberedFre>& fres, sframe::FdeType& type) {
    fres.resize(frames_.rows.size());
    NumberedFre* next = fres.data();
    bool flexible = false;
    RuleId last = RuleTable::no_rule;
    for (const cfi::NumberedRow& row : frames_.rows) {
      const Row said = rules_.row(row.rules);
      if (said.kind == Row::Kind::None) return false;
      flexible |= said.kind == Row::Kind::Flexible;
      // Different rules of DWARF may say the same in SFrame: the next row then takes this one's place.
      *next = {static_cast<std::uint32_t>(row.pc_offset), said.rule};
      next += said.rule != last ? 1 : 0;
      last = said.rule;
    }
    fres.resize(static_cast<std::size_t>(next - fres.data()));
    if (flexible) type = sframe::FdeType::Flexible;
    return true;
  }

  /// As one descriptor that repeats, if the version has one and all rows have a form.
  bool add_repeating() {
    if (!dialect_.version->has_repeat_size || frames_.size > largest_size) return false;
    open(frames_.start);
    open_->size = static_cast<std::uint32_t>(frames_.size);
    open_->pc_type = sframe::PcType::Mask;
    open_->repeat_size = frames_.repeat_size;
    for (const cfi::NumberedRow& row : frames_.rows) {
      if (!std::holds_alternative<sframe::RecoveryRules>(rules_.lowered(row.rules))) {
        open_.reset();
        return false;
      }
      const Row said = rules_.row(row.rules);
      if (said.kind == Row::Kind::Flexible) open_->type = sframe::FdeType::Flexible;
      // A row may not start past the function's end.
      if (row.pc_offset < frames_.size) open_->fres.push_back({static_cast<std::uint32_t>(row.pc_offset), said.rule});
    }
    return true;
  }

  void add(std::uint64_t begin, std::uint64_t end, cfi::RuleNumber rules) {
    const Lowered& lowered = rules_.lowered(rules);
    if (const auto* reason = std::get_if<Unrepresentable>(&lowered)) return add_hole(begin, end, *reason);
    if (const auto* stub = std::get_if<cfi::PltStub>(&lowered)) return add_plt_entries(begin, end, *stub);
    const Row said = rules_.row(rules);
    add_fre(begin, end, said.rule, said.kind == Row::Kind::Default);
  }

  void add_hole(std::uint64_t begin, std::uint64_t end, Unrepresentable reason) {
    close();
    const bool continues =
        !selected_.holes.empty() && selected_.holes.back().end == begin && selected_.holes.back().reason == reason;
    if (continues) {
      selected_.holes.back().end = end;
    } else {
      selected_.holes.push_back({begin, end, reason});
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
    const auto rule = [&](std::int64_t cfa_offset) {
      return rules_.table().id_of(sframe::RecoveryRules{
          {static_cast<std::uint32_t>(stub.base), static_cast<std::int32_t>(cfa_offset), false}, {}, {}, false});
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
    open_->signal_frame = frames_.signal_frame;
    // 'B' in an augmentation means nothing on machines that sign no return address.
    open_->b_key = frames_.b_key && dialect_.abi->signs_return_address && dialect_.version->has_mangled_ra;
    open_->fres = std::move(spare_fres_);
    open_->fres.clear();
  }

  void close() {
    if (!open_) return;
    selected_.fdes.push_back(std::move(*open_));
    open_.reset();
  }

  static constexpr std::uint64_t largest_size = std::numeric_limits<std::uint32_t>::max();

  const cfi::NumberedFrames& frames_;
  const Dialect& dialect_;
  LoweredRules& rules_;
  Selected& selected_;
  std::vector<NumberedFre> spare_fres_;
  std::optional<NumberedFde> open_;
};

}  // namespace

const Selected& Selector::select(const cfi::NumberedFrames& frames) {
  lowered_.keep_up_with_generation();
  Splitter(frames, dialect_, lowered_, selected_).run();
  return selected_;
}

}  // namespace sframe_gen::emit
