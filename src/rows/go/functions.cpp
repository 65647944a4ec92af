#include "rows/go/functions.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cfi/rules.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/machine.hpp"
#include "rows/go/effect.hpp"
#include "support/endian.hpp"

namespace sframe_gen::rows::go {

namespace {

using Bytes = std::span<const std::byte>;

/// An instruction at its place.
struct PlacedEffect {
  std::uint32_t at = 0;    ///< bytes from the function's start
  std::int64_t depth = 0;  ///< bytes between SP and its value at the function's entry
  Effect effect;
  bool before_save = false;    ///< the frame is there, but the frame pointer is not saved in it yet
  bool is_after_call = false;  ///< it is a call, or padding with nothing else between it and a call
};

/// A function's instructions, compared with the table.
class Follower {
 public:
  Follower(Bytes code, const elf::GoTable::Depths& depths, sframe::Abi abi)
      : code_(code.first(depths.end)), depths_(depths), is_amd64_(abi == sframe::Abi::Amd64) {}

  std::optional<Gap> run() {
    if (const auto gap = read()) return gap;
    if (!agree()) return Gap::Instructions;
    if (returns_from_signal()) return Gap::NotCalled;
    return find_registers() ? std::nullopt : std::optional(Gap::Registers);
  }

  std::vector<GoRow> rows() const {
    std::vector<GoRow> rows;
    const PlacedEffect* before = nullptr;
    for (const PlacedEffect& step : steps_) {
      // Nearly all instructions leave the frame as it is.
      const bool same = before != nullptr && before->depth == step.depth && before->before_save == step.before_save;
      before = &step;
      if (same) continue;
      const cfi::Rules rules = rules_at(step);
      if (rows.empty() || rows.back().rules != rules) rows.push_back({step.at, rules});
    }
    return rows;
  }

 private:
  /// Decodes all of it.
  std::optional<Gap> read() {
    auto depth = depths_.steps.begin();
    for (std::uint32_t at = 0; at < depths_.end;) {
      const Bytes rest = code_.subspan(at);
      const auto effect = is_amd64_ ? effect_amd64(rest) : effect_aarch64(rest);
      if (!effect) return Gap::Instructions;
      const auto next = std::next(depth);
      const std::uint32_t depth_end = next == depths_.steps.end() ? depths_.end : next->begin;
      if (at + effect->size > depth_end) return Gap::Instructions;
      const bool is_in_padding = effect->is_padding && !steps_.empty();
      steps_.push_back(
          {at, depth->bytes, *effect, false, is_in_padding ? steps_.back().is_after_call : effect->is_call});
      if (effect->moves_stack && !enters_large_frame(steps_.size() - 1)) return Gap::SwitchesStacks;
      at += effect->size;
      if (at == depth_end && next != depths_.steps.end()) depth = next;
    }
    return std::nullopt;
  }

  /// Whether each instruction moves SP as the table says, jumps keep the depth, and returns have none.
  bool agree() const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const PlacedEffect& step = steps_[i];
      const Effect& effect = step.effect;
      if (effect.is_return && step.depth != 0) return false;
      if (effect.jump != 0) {
        const std::int64_t target = step.at + effect.jump;
        const bool inside = target >= 0 && target < std::int64_t{depths_.end};
        if ((inside ? depth_at(static_cast<std::uint32_t>(target)) : 0) != step.depth) return false;
      }
      if (!goes_on(i)) continue;
      const std::int64_t next = steps_[i + 1].depth;
      const bool fits = effect.moves_stack ? step.depth == 0 && next > 0 : next == step.depth - effect.stack_rise;
      if (!fits) return false;
    }
    return true;
  }

  /// Whether control goes on from instruction `i` to the next one. After a call that does not return, the compiler
  /// writes an instruction that does nothing, and then comes code of another depth.
  bool goes_on(std::size_t i) const {
    if (!steps_[i].effect.goes_on || i + 1 == steps_.size()) return false;
    if (steps_[i].effect.stack_rise != 0 || steps_[i + 1].depth == steps_[i].depth) return true;
    return !steps_[i].is_after_call;
  }

  std::int64_t depth_at(std::uint32_t offset) const {
    return std::prev(std::ranges::upper_bound(depths_.steps, offset, {}, &elf::GoTable::Depth::begin))->bytes;
  }

  /// rt_sigreturn: what the kernel left on the stack is no return address.
  bool returns_from_signal() const {
    using namespace std::string_view_literals;
    constexpr std::string_view long_form = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"sv, short_form = "\xb8\x0f\0\0\0\x0f\x05"sv,
                               aarch64_form = "\x68\x11\x80\xd2\x01\0\0\xd4"sv;
    const std::string_view code(reinterpret_cast<const char*>(code_.data()), code_.size());
    if (!is_amd64_) return code.find(aarch64_form) != std::string_view::npos;
    return code.find(long_form) != std::string_view::npos || code.find(short_form) != std::string_view::npos;
  }

  std::uint32_t word(std::size_t step) const {
    return load<std::uint32_t>(code_.subspan(steps_[step].at), Endian::Little);
  }

  /// aarch64: "mov sp, x20", with "stp x29, x30, [x20, #-8]" before it: how frames of many bytes are made.
  bool enters_large_frame(std::size_t step) const {
    constexpr std::uint32_t move = 0x9100029f, store_pair = 0xa93ffa9d;
    return !is_amd64_ && step > 0 && word(step) == move && word(step - 1) == store_pair;
  }

  bool find_registers() { return (is_amd64_ || has_link()) && has_frame_pointer(); }

  /// aarch64: LR is in its register or, where there is a frame, at SP.
  bool has_link() const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const PlacedEffect& step = steps_[i];
      const Effect& effect = step.effect;
      if (step.depth == 0 && effect.link != Change::None && effect.link != Change::Saved && !grows_stack(i))
        return false;
      if (!goes_on(i)) continue;
      const std::int64_t next = steps_[i + 1].depth;
      if (next == step.depth) continue;
      const bool enters = step.depth == 0 && (effect.moves_stack || saves_link(effect));
      const bool leaves = next == 0 && (loads_link(effect, 0) || (i > 0 && loads_link(steps_[i - 1].effect, 0)));
      if (!enters && !leaves) return false;
    }
    return true;
  }
  static bool saves_link(const Effect& effect) { return effect.link == Change::Saved && effect.link_place == 0; }
  static bool loads_link(const Effect& effect, std::int64_t place) {
    return effect.link == Change::Restored && effect.link_place == place;
  }

  /// "mov x3, x30", a call of runtime.morestack, which goes on with LR as x3 has it, loads, and a jump to the start.
  bool grows_stack(std::size_t step) const {
    constexpr std::uint32_t keep_link = 0xaa1e03e3;
    if (!steps_[step].effect.is_call || step == 0 || word(step - 1) != keep_link) return false;
    const auto jump =
        std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(step) + 1, steps_.end(),
                     [](const PlacedEffect& next) { return !next.effect.goes_on || next.effect.link != Change::None; });
    return jump != steps_.end() && jump->effect.link == Change::None && jump->effect.jump < 0;
  }

  /// Whether the caller's frame pointer is either never written, or saved whenever there is a frame: at CFA - 16 on
  /// x86-64, at SP - 8 on aarch64.
  bool has_frame_pointer() {
    const auto writes = [](const PlacedEffect& step) {
      return step.effect.frame_pointer == Change::Other || step.effect.frame_pointer == Change::Restored;
    };
    saves_ = std::ranges::any_of(steps_, writes);
    if (!saves_) return !saves_in_vain();
    bool saved = false;  // else control comes to no frame
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const PlacedEffect& step = steps_[i];
      if (step.depth == 0 && writes(step)) return false;
      if (!goes_on(i)) continue;
      const std::int64_t next = steps_[i + 1].depth;
      const bool begins = step.depth == 0 && next != 0;
      if (begins && !saves_frame_pointer(i)) return false;
      saved |= begins;
      if (step.depth != 0 && next == 0 && !restores_frame_pointer(i)) return false;
    }
    return saved;
  }

  /// Whether a frame begins with the frame pointer, which is never written: no compiler does that.
  bool saves_in_vain() {
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
      const bool begins = goes_on(i) && steps_[i].depth == 0 && steps_[i + 1].depth != 0;
      if (begins && saves_frame_pointer(i)) return true;
    }
    return false;
  }

  /// Whether instruction `i`, which makes the frame, or the one after it does.
  bool saves_frame_pointer(std::size_t i) {
    const Effect& effect = steps_[i].effect;
    if (is_amd64_ && effect.frame_pointer == Change::Saved && effect.stack_rise == -8) return true;
    if (effect.moves_stack) return true;
    PlacedEffect& next = steps_[i + 1];
    next.before_save = true;
    return next.effect.frame_pointer == Change::Saved && next.effect.stack_rise == 0 &&
           next.effect.place == place_of_frame_pointer(next.depth);
  }

  /// Whether instruction `i`, which removes the frame, or the one before it does.
  bool restores_frame_pointer(std::size_t i) const {
    const Effect& effect = steps_[i].effect;
    if (is_amd64_ && effect.frame_pointer == Change::Restored && effect.stack_rise == 8) return true;
    if (i == 0 || effect.frame_pointer != Change::None) return false;
    const Effect& before = steps_[i - 1].effect;
    return before.frame_pointer == Change::Restored && before.stack_rise == 0 && before.goes_on &&
           before.place == place_of_frame_pointer(steps_[i].depth);
  }

  /// In bytes from SP.
  std::int64_t place_of_frame_pointer(std::int64_t depth) const { return is_amd64_ ? depth - 8 : -8; }

  cfi::Rules rules_at(const PlacedEffect& step) const {
    const cfi::TrackedRegisters& tracked = is_amd64_ ? cfi::amd64::tracked : cfi::aarch64::tracked;
    const std::int64_t pushed = is_amd64_ ? 8 : 0;  // by the call
    cfi::Rules rules;
    rules.cfa = cfi::Formula{tracked.stack_pointer, step.depth + pushed, false};
    if (is_amd64_ || step.depth != 0) rules.return_address = cfi::Formula{{}, is_amd64_ ? -8 : -step.depth, true};
    if (saves_ && step.depth != 0 && !step.before_save)
      rules.frame_pointer = cfi::Formula{{}, place_of_frame_pointer(step.depth) - step.depth - pushed, true};
    return rules;
  }

  Bytes code_;
  const elf::GoTable::Depths& depths_;
  bool is_amd64_;
  bool saves_ = false;  ///< the frame pointer
  std::vector<PlacedEffect> steps_;
};

/// Functions that the signal handler lets the interrupted code call, as it were: their caller is at the very
/// instruction that their return address names.
bool is_called_by_interruption(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt",
                                                  "runtime.debugCallV1", "runtime.debugCallV2"};
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Functions::Functions(const elf::Image& image, elf::GoTable table)
    : image_(image), abi_(elf::machine_of(image).abi), table_(std::move(table)) {
  if (elf::is_program(image)) find_entries_of_program();
}

/// What the kernel enters has no caller, nor has what that jumps to.
void Functions::find_entries_of_program() {
  constexpr std::size_t most_jumps = 4, longest = 64;
  std::uint64_t address = image_.header().e_entry;
  while (entries_of_program_.size() < most_jumps) {
    const elf::GoTable::Entry* const found = table_.entry_at(address);
    if (found == nullptr || found->start != address) return;
    entries_of_program_.push_back(address);
    const Bytes code = elf::loaded_bytes(image_, address, std::min<std::uint64_t>(longest, found->end - address));
    std::optional<std::uint64_t> target;
    for (std::size_t at = 0; at < code.size() && !target;) {
      const auto effect =
          abi_ == sframe::Abi::Amd64 ? effect_amd64(code.subspan(at)) : effect_aarch64(code.subspan(at));
      if (!effect || (!effect->goes_on && effect->jump == 0)) return;
      if (!effect->goes_on) target = address + at + static_cast<std::uint64_t>(effect->jump);
      at += effect->size;
    }
    if (!target) return;
    address = *target;
  }
}

GoFunction Functions::function(std::size_t index) const {
  const elf::GoTable::Entry& entry = table_.entries()[index];
  GoFunction function{entry.start, entry.end - entry.start, false, {}, {}};
  const auto depths = table_.depths_of(entry);
  const Bytes code = elf::loaded_bytes(image_, entry.start, function.size);
  if (!depths || code.empty()) {
    function.gap = Gap::Instructions;
    return function;
  }
  function.size = depths->end;
  if (entry.is_outermost() || std::ranges::find(entries_of_program_, entry.start) != entries_of_program_.end()) {
    cfi::Rules rules;
    rules.cfa = cfi::Formula{cfi::tracked_registers(abi_).stack_pointer, abi_ == sframe::Abi::Amd64 ? 8 : 0, false};
    rules.return_address = cfi::Undefined{};
    function.rows.push_back({0, rules});
    return function;
  }
  const bool interrupts = is_called_by_interruption(table_.name_of(entry));
  if (entry.switches_stacks()) {
    function.gap = Gap::SwitchesStacks;
  } else if (interrupts && abi_ != sframe::Abi::Amd64) {
    // The handler has put LR onto the interrupted function's stack, where no rule could find it.
    function.gap = Gap::NotCalled;
  } else {
    Follower follower(code, *depths, abi_);
    function.gap = follower.run();
    if (!function.gap) function.rows = follower.rows();
    function.signal_frame = interrupts;
  }
  return function;
}

}  // namespace sframe_gen::rows::go
