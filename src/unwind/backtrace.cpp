// The stack of this thread, by the sections of the files that this process has loaded. A PC finds its row in this
// order:
//
//     sframe_unwind_backtrace api/unwind.cpp: takes the registers of its caller
//     enter_modules           unwind/modules.hpp: the list of files, which stays as it is during the walk
//     Walk::run, Walk::step   unwind/walk.hpp: go from frame to frame, and ask for the row of each PC; run_common takes
//                             the frames that nearly all are, by apply_common
//     LoadedRows::find        here: asks in this order
//       RowCache                unwind/row_cache.hpp: the row that followed the last one before
//       LoadedRows::find_slow   here: rows that were found before, by PC, then those of sections
//       LoadedRows::enter       here: the file that holds the PC, from the list in unwind/modules.hpp
//       row_in_sections         unwind/walk.hpp: the row as steps take it, of the file's own section or another one
//         SectionView::lookup     sframe/view.cpp: the function that holds the PC, then its row
//         SectionReader           sframe/parser.hpp: the fields of both, and the rules
//     Walk::apply             unwind/walk.hpp: makes the registers the caller's
//
// sframe/find_rows and pc_rows are for sections that are decoded as a whole; nothing here uses it.

#include "unwind/backtrace.hpp"

#include <ucontext.h>

#include <cstring>
#include <optional>

#include "unwind/modules.hpp"
#include "unwind/registers.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/signal_frame.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/walk.hpp"

namespace sframe_gen::unwind {
namespace {

/// Fills `frames` from the frame in `registers` outwards. `known`: a part of the stack that can be read. `pauses`: it
/// also ends after a caller that was interrupted.
template <typename Frame>
int walk_this_thread(Registers& registers, Range known, Frame* frames, int size, Stop& stop, bool pauses = false);

/// Reads the registers of what a signal has interrupted.
void read_ucontext(const void* ucontext, Registers& registers);

/// Returns the stack between a handler and what it has interrupted, if they have the same one. It is readable: the
/// kernel has written below it. `here`: this_frame() of a function that the handler has called.
Range known_stack(const void* ucontext, const Registers& interrupted, std::uint64_t here);

[[gnu::always_inline]] inline std::uint64_t this_frame() {
  return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
}

/// Finds rows in loaded files, and trusts a file once it was seen to be loaded still: for one walk, as what is on the
/// stack stays. A file that a dlopen() is still loading, whose resolvers may be on the stack, is not trusted:
/// _dl_find_object does not know it yet. But it knows a file until shortly after its dlclose() has unmapped it. In that
/// moment a damaged stack may lead to where the file was, and a sound one to code that was put there without the
/// dynamic loader (a just-in-time compiler's). A row that is remembered is a copy, and does no harm; headers and
/// section are read where they were. No question would help, as they could go between question and reading.
class LoadedRows {
 public:
  using Place = RowCache::Place;

  explicit LoadedRows(const LoadedModules& loaded) : loaded_(loaded), remembered_(loaded.rows) {}

  static constexpr const sframe::AbiTraits& abi() { return host_traits; }

  static bool return_from_signal(StackMemory& memory, Registers& registers);
  static Stop step_without_row(Stop why, StackMemory& memory, Registers& registers) {
    return why != Stop::BadSection && return_from_signal(memory, registers) ? Stop::Stepped : why;
  }

  /// Finds the row of `pc`: in nearly every step it is the one that followed the last row before, of the same module.
  /// `place` and `row` stay in processor registers: in memory they would cost a third of a step's time.
  [[gnu::always_inline]] Stop find(std::uint64_t pc, Place& place, PackedRow& row) {
    Place next;
    if (place.next != 0 && remembered_.read(place.next, pc, row, next)) [[likely]] {
      if (pc - listed_begin_ < listed_size_ || enter_listed(pc, next.module)) [[likely]] {
        place = next;
        return Stop::Stepped;
      }
    }
    Place found;
    PackedRow read;
    const Stop stop = find_slow(pc, place, found, read);
    place = found;
    row = read;
    return stop;
  }

 private:
  /// Finds the row if it is not the one that followed.
  [[gnu::noinline]] Stop find_slow(std::uint64_t pc, Place before, Place& found, PackedRow& row) {
    const bool is_remembered = remembered_.find(pc, row, found);
    if (!enter(pc, found.module)) return Stop::NoModule;
    // What was in the place of an unlisted module may have left rows, and this one must not leave any.
    const bool is_listed = listed_size_ != 0;
    if (is_remembered && is_listed) {
      // Walk::step asks again for a row that run_common found and cannot apply: that is no successor.
      if (before.slot != 0 && before.next == 0 && before.slot != found.slot) remembered_.link(before.slot, found.slot);
      return Stop::Stepped;
    }
    found = {};
    const ModuleSection &own = module_->own, &provided = module_->provided;
    Stop stop = row_in_sections(&own.view, &provided.view, host_traits, pc - module_->bias, row);
    if (stop != Stop::Stepped && (own.is_damaged || provided.is_damaged)) stop = Stop::BadSection;
    if (stop == Stop::Stepped && is_listed)
      found.slot = remembered_.put(pc, row, RowCache::tag_of_module(index_of(*module_)));
    return stop;
  }

  /// Makes the file that holds `pc` the current one, whether it is listed or was loaded since. `hint`: its index, if
  /// its row was remembered.
  bool enter(std::uint64_t pc, std::uint32_t hint) {
    if ((module_ != nullptr && module_->contains(pc)) || enter_listed(pc, hint)) return true;
    if (loaded_.are_all || !open_unlisted(pc, unlisted_.emplace())) return false;
    module_ = &*unlisted_;
    return true;
  }

  bool enter_listed(std::uint64_t pc, std::uint32_t hint) {
    module_ = hint < loaded_.modules.size() ? &loaded_.modules.data()[hint] : nullptr;
    if (module_ == nullptr || !module_->is_permanent || !module_->contains(pc)) module_ = search(pc);
    listed_size_ = module_ != nullptr ? module_->end - module_->begin : 0;
    if (module_ != nullptr) listed_begin_ = module_->begin;
    return module_ != nullptr;
  }

  /// Returns the listed file that holds `pc`, if it is loaded still.
  [[gnu::noinline]] const LoadedModule* search(std::uint64_t pc) {
    if (loaded_.modules.empty()) return nullptr;
    const LoadedModule* const module = last_begin(loaded_.modules, pc);
    if (!module->contains(pc)) return nullptr;
    if (module->is_permanent) return module;
    const std::size_t index = index_of(*module);
    const std::uint64_t bit = index < 64 ? std::uint64_t{1} << index : 0;
    if ((seen_ & bit) == 0 && !is_same_file(module->identity, pc)) return nullptr;
    seen_ |= bit;
    return module;
  }

  std::size_t index_of(const LoadedModule& listed) const {
    return static_cast<std::size_t>(&listed - loaded_.modules.data());
  }

  const LoadedModules& loaded_;
  RowCache remembered_;
  const LoadedModule* module_ = nullptr;
  std::uint64_t listed_begin_ = 0, listed_size_ = 0;  ///< the code of `module_`, if that is listed
  std::uint64_t seen_ = 0;                            ///< bit n: the n-th module is still loaded
  std::optional<LoadedModule> unlisted_;
};

template <typename Frame>
int walk_this_thread(Registers& registers, Range known, Frame* frames, int size, Stop& stop, bool pauses) {
  if (size <= 0) return 0;
  unsigned turn = 0;
  const LoadedModules& loaded = enter_modules(turn);
  LoadedRows rows(loaded);
  StackMemory memory(known, loaded.main_stack);
  const std::size_t count =
      Walk(rows, memory, registers, std::span<Frame>(frames, static_cast<std::size_t>(size))).run(stop, pauses);
  leave_modules(turn);
  return static_cast<int>(count);
}

void read_ucontext(const void* data, Registers& registers) {
  const auto& context = *static_cast<const ucontext_t*>(data);
  // On aarch64 fault_address comes first.
  constexpr std::size_t first_word =
      host_traits.abi == sframe::Abi::Amd64 || host_traits.abi == sframe::Abi::S390x ? 0 : 1;
  const auto* const words = reinterpret_cast<const std::byte*>(&context.uc_mcontext) + 8 * first_word;
  registers.pc_is_exact = 1;
  read_saved(
      saved_for_signal(host_traits.abi),
      [&](std::uint8_t word, std::uint64_t& value) {
        std::memcpy(&value, words + std::size_t{8} * word, sizeof value);
        return true;
      },
      registers);
}

Range known_stack(const void* data, const Registers& interrupted, std::uint64_t here) {
  constexpr std::uint64_t farthest = 1U << 18U;  // bytes of the kernel's frame and the handler's callees: some KiB
  constexpr std::uint64_t red_zone = 160;        // the largest of the three machines': the kernel writes below it
  const stack_t& alternate = static_cast<const ucontext_t*>(data)->uc_stack;
  const std::uint64_t sp = interrupted.values[host_traits.stack_pointer];
  const bool on_alternate = here - reinterpret_cast<std::uint64_t>(alternate.ss_sp) < alternate.ss_size;
  if (on_alternate || sp <= here || sp - here > farthest) return {};
  return {here, sp - red_zone};
}

/// Returns the stack between this function and a frame that has called it, if they are so close together that no page
/// lies between theirs. The caller of a public function may be wrong about where a frame is.
Range known_stack_below(const Registers& registers, std::uint64_t here) {
  constexpr std::uint64_t smallest_page = 4096;
  const std::uint64_t sp = registers.values[host_traits.stack_pointer];
  return registers.knows(host_traits.stack_pointer) && sp - here <= smallest_page ? Range{here, sp} : Range{};
}

bool LoadedRows::return_from_signal(StackMemory& memory, Registers& registers) {
  StackMemory code({}, {});
  const auto read_code = [&](std::uint64_t address, std::span<std::byte> bytes) {
    // An instruction is in one aligned word, and so in one page.
    std::uint64_t word = 0;
    if (address % bytes.size() != 0 || !code.word(address / 8 * 8, word)) return false;
    std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(&word) + address % 8, bytes.size());
    return true;
  };
  const auto word_at = [&](std::uint64_t address, std::uint64_t& value) { return memory.word(address, value); };
  return unwind::return_from_signal(host_traits, read_code, word_at, registers);
}

}  // namespace

}  // namespace sframe_gen::unwind

extern "C" int sframe_gen_backtrace_from(void** buffer, int size, std::uint64_t sp, std::uint64_t pc,
                                         std::uint64_t fp) {
  using namespace sframe_gen::unwind;
  Registers registers;
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.set(host_traits.stack_pointer, sp);
  registers.set(host_traits.frame_pointer, fp);
  Stop stop{};
  // The return address of the call is there, or could be.
  return walk_this_thread(registers, {this_frame(), sp}, buffer, size, stop);
}

int sframe_gen::unwind::walk_interrupted(void** buffer, int size, const void* ucontext, Stop& stop) {
  Registers registers;
  read_ucontext(ucontext, registers);
  const auto known = known_stack(ucontext, registers, this_frame());
  return walk_this_thread(registers, known, buffer, size, stop);
}

int sframe_gen::unwind::walk_from(void** buffer, int size, Registers& registers, Stop& stop) {
  return walk_this_thread(registers, known_stack_below(registers, this_frame()), buffer, size, stop, true);
}

int sframe_gen::unwind::walk_from(sframe_unwind_frame* frames, int size, Registers& registers, Stop& stop) {
  return walk_this_thread(registers, known_stack_below(registers, this_frame()), frames, size, stop, true);
}
