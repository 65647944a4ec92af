#include <optional>

#include "sframe_gen/unwind.h"
#include "unwind/host.hpp"
#include "unwind/modules.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/walk.hpp"

namespace sframe_gen::unwind {
namespace {

Stop look_up(const ModuleSection& section, std::uint64_t pc, PackedRow& row) {
  if (section.is_damaged) return Stop::BadSection;
  if (!section.view.is_open()) return Stop::NoSection;
  if (section.view.abi() != host_abi.abi) return Stop::BadSection;
  return find_row(section.view, host_abi, pc - section.bias, row);
}

/// Finds rows in loaded files, and trusts a file once it was seen to be loaded still: for one walk, as what is on the
/// stack stays. A damaged stack may lead into a file that another thread unloads meanwhile. A row that is remembered is
/// a copy, and does no harm; a section is read where it is, and could go between question and reading. So it could by
/// any question: _dl_find_object knows a file until after it is unmapped.
class LoadedRows {
 public:
  explicit LoadedRows(const LoadedModules& loaded) : loaded_(loaded), remembered_(loaded.rows) {}

  static constexpr const sframe::AbiTraits& abi() { return host_abi; }

  static bool return_from_signal(StackMemory& memory, Registers& registers) {
    return unwind::return_from_signal(memory, registers);
  }

  /// `place` and `row` stay in processor registers: in memory they would cost a third of a step's time.
  [[gnu::always_inline]] Stop find(std::uint64_t pc, RowCache::Found& place, PackedRow& row) {
    RowCache::Found next;
    if (place.next != 0 && remembered_.find_in(place.next, pc, row, next)) [[likely]] {
      if (pc - known_begin_ < known_size_ || enter_known(pc, next.number)) [[likely]] {
        place = next;
        return Stop::Stepped;
      }
    }
    RowCache::Found found;
    PackedRow read;
    const Stop stop = find_anywhere(pc, place, found, read);
    place = found;
    row = read;
    return stop;
  }

 private:
  [[gnu::noinline]] Stop find_anywhere(std::uint64_t pc, RowCache::Found before, RowCache::Found& found,
                                       PackedRow& row) {
    const bool is_remembered = remembered_.find(pc, before.next, row, found);
    const bool is_inside = module_ != nullptr && holds(*module_, pc);
    if (!is_inside && !enter_known(pc, found.number) && !enter_unseen(pc)) return Stop::NoModule;
    // What was in the place of an unknown module may have left rows, and this one must not leave any.
    const bool is_known = known_size_ != 0;
    if (is_remembered && is_known) {
      if (before.slot != 0 && before.next == 0) remembered_.follow(before.slot, found.slot);
      return Stop::Stepped;
    }
    found = {};
    Stop stop = look_up(module_->own, pc, row);
    if (stop != Stop::Stepped && module_->provided.view.is_open() &&
        look_up(module_->provided, pc, row) == Stop::Stepped)
      stop = Stop::Stepped;
    if (stop == Stop::Stepped && is_known) found.slot = remembered_.put(pc, row, number_of(*module_));
    return stop;
  }

  /// `number`: of the module that held the PC when its row was remembered.
  [[gnu::noinline]] bool enter_known(std::uint64_t pc, std::uint32_t number) {
    const LoadedModule* const module = find_known(pc, number);
    module_ = module;
    known_size_ = module != nullptr ? module->end - module->begin : 0;
    if (module != nullptr) known_begin_ = module->begin;
    return module != nullptr;
  }

  bool enter_unseen(std::uint64_t pc) {
    if (!open_unseen(pc, unseen_.emplace())) return false;
    module_ = &*unseen_;
    return true;
  }

  /// Only a hint: the module must still hold the PC.
  std::uint32_t number_of(const LoadedModule& known) const {
    return static_cast<std::uint32_t>(&known - loaded_.modules.data()) % RowCache::most_numbers;
  }

  const LoadedModule* find_known(std::uint64_t pc, std::uint32_t number) {
    if (number < loaded_.modules.size()) {
      const LoadedModule& module = loaded_.modules.data()[number];
      if (module.is_permanent && holds(module, pc)) return &module;
    }
    return find_asked(pc);
  }

  [[gnu::noinline]] const LoadedModule* find_asked(std::uint64_t pc) {
    if (loaded_.modules.empty()) return nullptr;
    const LoadedModule* const module = last_begin(loaded_.modules, pc);
    if (!holds(*module, pc)) return nullptr;
    if (module->is_permanent) return module;
    const auto number = module - loaded_.modules.data();
    const std::uint64_t bit = number < 64 ? std::uint64_t{1} << static_cast<unsigned>(number) : 0;
    if ((seen_ & bit) == 0 && !is_same_file(module->identity, pc)) return nullptr;
    seen_ |= bit;
    return module;
  }

  static bool holds(const LoadedModule& module, std::uint64_t pc) {
    return pc - module.begin < module.end - module.begin;
  }

  const LoadedModules& loaded_;
  RowCache remembered_;
  const LoadedModule* module_ = nullptr;
  std::uint64_t known_begin_ = 0, known_size_ = 0;  ///< the code of `module_`, if rows may be remembered of it
  std::uint64_t seen_ = 0;                          ///< bit n: the n-th module is still loaded
  std::optional<LoadedModule> unseen_;
};

int walk_this_thread(Registers& registers, Range known, void** buffer, int size, Stop& stop) {
  if (size <= 0) return 0;
  const LoadedModules& loaded = enter_modules();
  LoadedRows rows(loaded);
  StackMemory memory(known, loaded.main_stack);
  const std::size_t count =
      Walk(rows, memory, registers, std::span<void*>(buffer, static_cast<std::size_t>(size))).run(stop);
  leave_modules();
  return static_cast<int>(count);
}

}  // namespace
}  // namespace sframe_gen::unwind

using namespace sframe_gen::unwind;

extern "C" {

int sframe_gen_backtrace_from(void** buffer, int size, std::uint64_t sp, std::uint64_t pc, std::uint64_t fp) {
  Registers registers;
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.set(host_abi.stack_pointer, sp);
  registers.set(host_abi.frame_pointer, fp);
  Stop stop{};
  // The return address of the call is there, or could be.
  return walk_this_thread(registers, {this_frame(), sp}, buffer, size, stop);
}

int sframe_backtrace_stop(void** buffer, int size, const void* ucontext, int* stop) {
  Registers registers;
  read_ucontext(ucontext, registers);
  Stop why{};
  const auto known = known_stack(ucontext, registers, this_frame());
  const int count = walk_this_thread(registers, known, buffer, size, why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_backtrace_interrupted(void** buffer, int size, const void* ucontext) {
  int stop = 0;
  return sframe_backtrace_stop(buffer, size, ucontext, &stop);
}

int sframe_backtrace_prepare(void) {
  return look_at_modules(nullptr, nullptr, 0);
}
int sframe_backtrace_prepare_with(sframe_provide provide, void* context, unsigned flags) {
  return look_at_modules(provide, context, flags);
}
void sframe_backtrace_release(void) {
  forget_modules();
}
}
