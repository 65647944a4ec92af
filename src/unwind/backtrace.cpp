#include "unwind/backtrace.hpp"

#include <optional>

#include "sframe_gen/unwind.h"
#include "unwind/host.hpp"
#include "unwind/modules.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/section_reader.hpp"
#include "unwind/signal_return.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/step.hpp"

namespace sframe_gen::unwind {
namespace {

Stop look_up(const ModuleSection& section, std::uint64_t pc, PackedRow& row) {
  if (section.is_damaged) return Stop::BadSection;
  if (!section.view.is_open()) return Stop::NoSection;
  if (section.view.abi() != host_abi.abi) return Stop::BadSection;
  return find_row(section.view, host_abi, pc - section.bias, row);
}

/// Finds rows, and trusts a module once it was seen to be loaded still: for one walk, as what is on the stack stays.
/// All are, if the dynamic loader counts no change; then any row that is remembered is right, whatever it is of. A
/// damaged stack may lead into a file that another thread unloads meanwhile. A row that is remembered is a copy, and
/// does no harm; a section is read where it lies, and could go between question and reading. So it could by any
/// question: _dl_find_object knows a file until after it is unmapped.
class Rows {
 public:
  explicit Rows(const LoadedModules& loaded)
      : loaded_(loaded), remembered_(loaded.rows), all_stay_(loaded.loader_counts.are_unchanged()) {
    if (all_stay_) enter_all();
  }

  /// `place`: of the row before, and then of this one. In processor registers, as long as stacks are what they were:
  /// through memory it would take a third of a step's time.
  [[gnu::always_inline]] Stop find(std::uint64_t pc, RowCache::Found& place, PackedRow& row) {
    RowCache::Found next;
    if (place.next != 0 && remembered_.find_in(place.next, pc, row, next)) [[likely]] {
      if (pc - known_begin_ < known_size_ || enter_known(pc, next.number)) [[likely]] {
        place = next;
        return Stop::Stepped;
      }
    }
    const Answer answer = find_anywhere(pc, place);
    place = answer.place;
    row = answer.row;
    return answer.stop;
  }

 private:
  struct Answer {
    Stop stop;
    RowCache::Found place;
    PackedRow row;
  };

  [[gnu::noinline]] bool enter_known(std::uint64_t pc, std::uint32_t number) {
    if (number < loaded_.modules.size() && holds(number, pc)) {
      const LoadedModule& known = loaded_.modules.data()[number];
      if (known.is_permanent) {
        enter(known);
        return true;
      }
    }
    return enter_module(pc, number) && known_size_ != 0;
  }

  [[gnu::noinline]] Answer find_anywhere(std::uint64_t pc, RowCache::Found before) {
    Answer answer{};
    const bool is_remembered = remembered_.find(pc, before.next, answer.row, answer.place);
    if (module_ == nullptr || pc - module_->begin >= module_->end - module_->begin) {
      if (!enter_module(pc, answer.place.number)) return {Stop::NoModule, {}, {}};
    }
    // What stood in the place of an unknown module may have left rows behind, and none are to be left by this one.
    const bool is_known = known_size_ != 0;
    if (is_remembered && is_known) {
      if (before.slot != 0 && before.next == 0) remembered_.follow(before.slot, answer.place.slot);
      return answer;
    }
    answer.place = {};
    answer.stop = look_up(module_->own, pc, answer.row);
    if (answer.stop != Stop::Stepped && module_->provided.view.is_open() &&
        look_up(module_->provided, pc, answer.row) == Stop::Stepped)
      answer.stop = Stop::Stepped;
    if (answer.stop == Stop::Stepped && is_known)
      answer.place.slot = remembered_.put(pc, answer.row, number_of(*module_));
    return answer;
  }

  /// `number`: of the module that held the PC when its row was remembered.
  bool enter_module(std::uint64_t pc, std::uint32_t number) {
    known_size_ = 0;
    module_ = find_known(pc, number);
    if (module_ != nullptr) {
      enter(*module_);
      return true;
    }
    if (!open_unseen(pc, unseen_.emplace())) return false;
    module_ = &*unseen_;
    return true;
  }

  void enter(const LoadedModule& known) {
    module_ = &known;
    known_begin_ = known.begin;
    known_size_ = known.end - known.begin;
    if (all_stay_) enter_all();
  }

  void enter_all() {
    known_begin_ = 0;
    known_size_ = ~std::uint64_t{0};
  }

  /// Only a hint: it is looked at what the module holds.
  std::uint32_t number_of(const LoadedModule& known) const {
    return static_cast<std::uint32_t>(&known - loaded_.modules.data()) % RowCache::most_numbers;
  }

  const LoadedModule* find_known(std::uint64_t pc, std::uint32_t number) {
    const std::size_t count = loaded_.modules.size();
    if (number >= count || !holds(number, pc)) number = last_below(pc);
    if (count == 0 || !holds(number, pc)) return nullptr;
    const LoadedModule& module = loaded_.modules.data()[number];
    if (module.is_permanent || loaded_.loader_counts.are_unchanged()) return &module;
    const std::uint64_t bit = number < 64 ? std::uint64_t{1} << number : 0;
    if ((seen_ & bit) == 0 && !is_same_file(module.identity, pc)) return nullptr;
    seen_ |= bit;
    return &module;
  }

  bool holds(std::uint32_t number, std::uint64_t pc) const {
    const LoadedModule& module = loaded_.modules.data()[number];
    return pc - module.begin < module.end - module.begin;
  }

  /// The last module that begins at or below `pc`, or the first one.
  std::uint32_t last_below(std::uint64_t pc) const {
    const LoadedModule* const modules = loaded_.modules.data();
    std::size_t first = 0;
    for (std::size_t count = loaded_.modules.size(); count > 1;) {
      const std::size_t half = count / 2;
      if (modules[first + half].begin <= pc) first += half;
      count -= half;
    }
    return static_cast<std::uint32_t>(first);
  }

  const LoadedModules& loaded_;
  RowCache remembered_;
  const LoadedModule* module_ = nullptr;
  bool all_stay_;  ///< as the walk began
  std::uint64_t known_begin_ = 0,
                known_size_ = 0;  ///< where rows may be taken from memory: the code of `module_`, or all
  std::uint64_t seen_ = 0;        ///< bit n: the n-th module is still loaded
  std::optional<LoadedModule> unseen_;
};

/// What a walk goes on with after a call: more would have to be kept in memory from frame to frame.
struct Caller {
  std::uint64_t pc, sp, fp;
};

/// One step by a row of the common form. False: it takes a general one to say why not.
bool step_common(const PackedRow& row, StackMemory& memory, Caller& frame) {
  const std::uint64_t cfa = moved(row.has(PackedRow::cfa_from_fp) ? frame.fp : frame.sp, row.cfa_offset);
  const std::uint64_t sp = moved(cfa, host_abi.stack_pointer_bias);
  std::uint64_t pc = 0;
  std::uint64_t fp = frame.fp;
  if (sp <= frame.sp || !memory.word(moved(cfa, row.ra_offset), pc) || pc == 0) return false;
  if (row.has(PackedRow::fp_dereferenced) && !memory.word(moved(cfa, row.fp_offset), fp)) return false;
  frame = {pc, sp, fp};
  return true;
}

class Walk {
 public:
  Walk(const LoadedModules& loaded, Registers& registers, KnownStack known, std::span<void*> buffer)
      : rows_(loaded), memory_({known.begin, known.end}, loaded.main_stack), registers_(registers), buffer_(buffer) {}

  /// The number of frames.
  std::size_t run(Stop& stop) {
    constexpr std::uint32_t needed = 1U << host_abi.stack_pointer | 1U << host_abi.frame_pointer;
    stop = Stop::Stepped;
    while (stop == Stop::Stepped && count_ < buffer_.size()) {
      const bool after_call = registers_.pc_is_exact == 0 && (registers_.known & needed) == needed;
      if (after_call) run_common();
      if (count_ == buffer_.size()) break;
      add(registers_.pc);
      PackedRow row;
      stop = rows_.find(registers_.pc - (registers_.pc_is_exact != 0 ? 0 : 1), place_, row);
      if (stop == Stop::Stepped) {
        stop = apply(row, host_abi, memory_, registers_);
      } else if (stop != Stop::BadSection && return_from_signal(memory_, registers_)) {
        stop = Stop::Stepped;
      }
    }
    return count_;
  }

 private:
  void add(std::uint64_t pc) { buffer_.data()[count_++] = pointer_to(pc); }

  /// As far as rows of the common form lead, with all that changes in processor registers.
  void run_common() {
    Caller frame{registers_.pc, registers_.values[host_abi.stack_pointer], registers_.values[host_abi.frame_pointer]};
    std::uint64_t pc_of_row = 0;
    PackedRow row;
    RowCache::Found place = place_;
    while (count_ < buffer_.size()) {
      // In a recursion, what a row says need not wait for the return address.
      if (frame.pc != pc_of_row) {
        if (rows_.find(frame.pc - 1, place, row) != Stop::Stepped) break;
        pc_of_row = frame.pc;
      }
      const std::uint64_t pc = frame.pc;
      if (!row.has(PackedRow::common) || !step_common(row, memory_, frame)) break;
      add(pc);
    }
    place_ = place;
    registers_.pc = frame.pc;
    registers_.pc_is_exact = 0;
    registers_.values[host_abi.stack_pointer] = frame.sp;
    registers_.values[host_abi.frame_pointer] = frame.fp;
    registers_.known = 1U << host_abi.stack_pointer | 1U << host_abi.frame_pointer;
  }

  Rows rows_;
  RowCache::Found place_;  ///< of the last row
  StackMemory memory_;
  Registers& registers_;
  std::span<void*> buffer_;
  std::size_t count_ = 0;
};

}  // namespace

int walk_this_thread(Registers& registers, KnownStack known, void** buffer, int size, Stop& stop) {
  if (size <= 0) return 0;
  const LoadedModules& loaded = enter_modules();
  const std::size_t count = Walk(loaded, registers, known, {buffer, static_cast<std::size_t>(size)}).run(stop);
  leave_modules();
  return static_cast<int>(count);
}

}  // namespace sframe_gen::unwind

using sframe_gen::unwind::Registers;
using sframe_gen::unwind::Stop;

extern "C" {

int sframe_gen_backtrace_from(void** buffer, int size, std::uint64_t sp, std::uint64_t pc, std::uint64_t fp) {
  Registers registers;
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.set(sframe_gen::unwind::host_abi.stack_pointer, sp);
  registers.set(sframe_gen::unwind::host_abi.frame_pointer, fp);
  Stop stop{};
  // The return address of the call lies there, or could.
  return sframe_gen::unwind::walk_this_thread(registers, {sframe_gen::unwind::this_frame(), sp}, buffer, size, stop);
}

int sframe_backtrace_stop(void** buffer, int size, const void* ucontext, int* stop) {
  Registers registers;
  sframe_gen::unwind::read_ucontext(ucontext, registers);
  Stop why{};
  const auto known = sframe_gen::unwind::known_stack(ucontext, registers, sframe_gen::unwind::this_frame());
  const int count = sframe_gen::unwind::walk_this_thread(registers, known, buffer, size, why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_backtrace_interrupted(void** buffer, int size, const void* ucontext) {
  int stop = 0;
  return sframe_backtrace_stop(buffer, size, ucontext, &stop);
}

int sframe_backtrace_prepare(void) {
  return sframe_gen::unwind::look_at_modules(nullptr, nullptr, 0);
}
int sframe_backtrace_prepare_with(sframe_provide provide, void* context, unsigned flags) {
  return sframe_gen::unwind::look_at_modules(provide, context, flags);
}
void sframe_backtrace_release(void) {
  sframe_gen::unwind::forget_modules();
}
}
