// unw_init_local(), unw_step() and unw_get_reg() of libunwind, as programs call them that walk step by step. A cursor
// is libunwind's own and stays at its first frame, while rows go on; where they are is in a note at the end of the
// cursor. Any other question about a cursor brings it to that frame by libunwind's steps, and from then on it is
// libunwind's alone.

#if defined(__x86_64__)

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backtrace/originals.hpp"
#include "backtrace/state.hpp"
#include "sframe_gen/unwind.h"

namespace sframe_gen::backtrace {
namespace {

// libunwind-x86_64.h: a cursor has 127 words, of which the structure in it needs half, and numbers of registers are
// DWARF's.
constexpr std::size_t cursor_size = std::size_t{127} * 8;
constexpr int rbp = 6, rsp = 7, rip = 16;
constexpr int unspecified_error = -1;  ///< -UNW_EUNSPEC

/// Where rows are. Cursors may be copied.
struct CursorNote {
  static constexpr std::uint64_t first_mark = 0x27b1e90ac3f84d56, second_mark = 0xd80c5f6e1b92a374;

  std::uint64_t marks[2];
  std::uint64_t pc, sp, fp;  ///< PC 0: the walk has ended
  std::uint32_t steps;
  std::uint32_t knows_fp;
};

void* place_of_note(void* cursor) {
  return static_cast<char*>(cursor) + cursor_size - sizeof(CursorNote);
}

CursorNote read_note(void* cursor) {
  CursorNote note{};
  std::memcpy(&note, place_of_note(cursor), sizeof note);
  return note;
}

bool is_ours(const CursorNote& note) {
  return note.marks[0] == CursorNote::first_mark && note.marks[1] == CursorNote::second_mark;
}

void write_note(void* cursor, const CursorNote& note) {
  std::memcpy(place_of_note(cursor), &note, sizeof note);
}

/// The memory of a cursor may have been another one's.
void remove_note(void* cursor) {
  std::memset(place_of_note(cursor), 0, sizeof(CursorNote));
}

using Word = std::uint64_t;

struct Steps {
  int (*init_local)(void*, void*);
  int (*init_local2)(void*, void*, int);
  int (*init_remote)(void*, void*, void*);
  int (*step)(void*);
  int (*get_reg)(void*, int, Word*);
  int (*set_reg)(void*, int, Word);
  int (*get_fpreg)(void*, int, long double*);
  int (*set_fpreg)(void*, int, long double);
  int (*get_proc_info)(void*, void*);
  int (*get_proc_name)(void*, char*, std::size_t, Word*);
  int (*is_signal_frame)(void*);
  int (*resume)(void*);
  int (*get_save_loc)(void*, int, void*);
  int (*reg_states_iterate)(void*, void*, void*);
  int (*apply_reg_state)(void*, void*);
};
Steps steps;
std::uint64_t own_begin, own_end;  ///< addresses of libunwind
bool are_libunwinds;

template <typename Function>
void find(Function*& place, const char* name) {
  __atomic_store_n(&place, reinterpret_cast<Function*>(find_in_libunwind(name)), __ATOMIC_RELAXED);
}

int find_own_code(dl_phdr_info* info, std::size_t, void*) {
  const auto address = reinterpret_cast<std::uint64_t>(steps.step);
  for (const ElfW(Phdr)* segment = info->dlpi_phdr; segment != info->dlpi_phdr + info->dlpi_phnum; ++segment) {
    const std::uint64_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || address - begin >= segment->p_memsz) continue;
    own_begin = begin;
    own_end = begin + segment->p_memsz;
    return 1;
  }
  return 0;
}

/// Finds them if the constructor has not: a program has loaded libunwind later, or walks very early.
template <auto member>
auto original_step() {
  if (__atomic_load_n(&(steps.*member), __ATOMIC_RELAXED) == nullptr) find_libunwinds_steps();
  return __atomic_load_n(&(steps.*member), __ATOMIC_RELAXED);
}

/// Brings the cursor to where rows are, and leaves it to libunwind.
void hand_over(void* cursor, int why) {
  const CursorNote note = read_note(cursor);
  if (!is_ours(note)) return;
  remove_note(cursor);
  count_original(why);
  for (std::uint32_t i = 0; i != note.steps; ++i) {
    if (steps.step(cursor) <= 0) return;
  }
}

/// libunwind raises exceptions by its own steps, and looks for callers of its own.
bool is_own_call(std::uint64_t caller) {
  return caller >= own_begin && caller < own_end;
}

/// Where a function of libunwind was called from.
struct CallPlace {
  std::uint64_t pc, sp;
};

/// `frame`: of the function that was called, which has the caller's RBP and the return address.
CallPlace caller_of(const void* frame, const void* return_address) {
  return {reinterpret_cast<std::uint64_t>(return_address), reinterpret_cast<std::uint64_t>(frame) + 16};
}

/// Whether a context was taken in the function that begins the walk: it has its stack pointer, and a PC nearby. A
/// profiler's handler begins at what it has interrupted, which libunwind takes for a return address as well. Rows say
/// other things there: of the instruction before a function's first one, say.
bool is_there(const CallPlace& caller, const CursorNote& note) {
  constexpr std::uint64_t near = 4096;  // bytes of code
  return note.sp == caller.sp && note.pc - caller.pc + near <= 2 * near;
}

bool begins_by_rows(const CallPlace& caller) {
  return __atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE) && are_libunwinds && !is_own_call(caller.pc);
}

/// `init` is libunwind's. No note is made where it writes to the place of notes itself.
template <typename Init>
int init_by_rows(void* cursor, const CallPlace& caller, const Init& init) {
  CursorNote before{};
  std::memset(&before, 0x5a, sizeof before);
  write_note(cursor, before);
  const int result = init();
  CursorNote note = read_note(cursor);
  const bool is_free = std::memcmp(&note, &before, sizeof note) == 0;
  if (!is_free) return result;
  remove_note(cursor);
  if (result < 0) return result;
  note = {{CursorNote::first_mark, CursorNote::second_mark}, 0, 0, 0, 0, 1};
  const bool is_known = steps.get_reg(cursor, rip, &note.pc) == 0 && steps.get_reg(cursor, rsp, &note.sp) == 0 &&
                        steps.get_reg(cursor, rbp, &note.fp) == 0;
  if (!is_known || !is_there(caller, note)) return result;
  write_note(cursor, note);
  count_walk(1);
  return result;
}

/// What libunwind's function returns of a cursor that is brought to its frame first.
template <auto member, typename... Arguments>
int answer(void* cursor, Arguments... arguments) {
  hand_over(cursor, MoreAsked);
  auto* const function = original_step<member>();
  return function != nullptr ? function(cursor, arguments...) : unspecified_error;
}

}  // namespace

void find_libunwinds_steps() {
  find_unw_backtrace();
  find(steps.step, "_ULx86_64_step");
  if (steps.step == nullptr) return;
  find(steps.init_local2, "_ULx86_64_init_local2");
  find(steps.init_remote, "_ULx86_64_init_remote");
  find(steps.get_reg, "_ULx86_64_get_reg");
  find(steps.set_reg, "_ULx86_64_set_reg");
  find(steps.get_fpreg, "_ULx86_64_get_fpreg");
  find(steps.set_fpreg, "_ULx86_64_set_fpreg");
  find(steps.get_proc_info, "_ULx86_64_get_proc_info");
  find(steps.get_proc_name, "_ULx86_64_get_proc_name");
  find(steps.is_signal_frame, "_ULx86_64_is_signal_frame");
  find(steps.resume, "_ULx86_64_resume");
  find(steps.get_save_loc, "_ULx86_64_get_save_loc");
  find(steps.reg_states_iterate, "_ULx86_64_reg_states_iterate");
  find(steps.apply_reg_state, "_ULx86_64_apply_reg_state");
  ::dl_iterate_phdr(find_own_code, nullptr);
  are_libunwinds = is_libunwinds() && steps.get_reg != nullptr;
  // The last: who has it has the others.
  find(steps.init_local, "_ULx86_64_init_local");
}

}  // namespace sframe_gen::backtrace

using namespace sframe_gen::backtrace;

// They are no part of a header that says so.
#pragma GCC visibility push(default)
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): libunwind's names
extern "C" {

int _ULx86_64_init_local(void* cursor, void* context) {
  auto* const init = original_step<&Steps::init_local>();
  if (init == nullptr) return unspecified_error;
  remove_note(cursor);
  const CallPlace caller = caller_of(__builtin_frame_address(0), __builtin_return_address(0));
  if (!begins_by_rows(caller)) return init(cursor, context);
  return init_by_rows(cursor, caller, [&] { return init(cursor, context); });
}

int _ULx86_64_init_local2(void* cursor, void* context, int flags) {
  auto* const init = original_step<&Steps::init_local2>();
  if (init == nullptr) return unspecified_error;
  remove_note(cursor);
  // With a flag, the first frame is an interrupted one.
  const CallPlace caller = caller_of(__builtin_frame_address(0), __builtin_return_address(0));
  if (flags != 0 || !begins_by_rows(caller)) return init(cursor, context, flags);
  return init_by_rows(cursor, caller, [&] { return init(cursor, context, flags); });
}

int _ULx86_64_init_remote(void* cursor, void* space, void* argument) {
  auto* const init = original_step<&Steps::init_remote>();
  if (init == nullptr) return unspecified_error;
  remove_note(cursor);
  return init(cursor, space, argument);
}

int _ULx86_64_step(void* cursor) {
  CursorNote note = read_note(cursor);
  if (!is_ours(note)) return answer<&Steps::step>(cursor);
  if (note.pc == 0) return 0;
  sframe_unwind_registers registers;
  registers.pc = note.pc;
  registers.pc_is_exact = 0;
  registers.values[rsp] = note.sp;
  registers.values[rbp] = note.fp;
  registers.known = 1U << rsp | (note.knows_fp != 0 ? 1U << rbp : 0U);
  sframe_unwind_frame frames[2];
  int stop = 0;
  const int count = sframe_unwind_backtrace_frames(frames, 2, &registers, &stop);
  const bool is_caller = count == 2 && registers.pc_is_exact == 0;
  const bool is_end = stop == SFRAME_UNWIND_OUTERMOST && count == 1 && is_call_described(note.pc);
  if (!is_caller && !is_end) {
    // A signal's handler is at its end: libunwind has its own ways from there.
    hand_over(cursor, count == 2 || stop == SFRAME_UNWIND_OUTERMOST ? static_cast<int>(MoreAsked) : stop);
    return steps.step(cursor);
  }
  ++note.steps;
  note.pc = is_caller ? registers.pc : 0;
  note.sp = registers.values[rsp];
  note.fp = registers.values[rbp];
  note.knows_fp = registers.known >> rbp & 1U;
  write_note(cursor, note);
  if (!is_caller) return 0;
  count_frame();
  return 1;
}

int _ULx86_64_get_reg(void* cursor, int number, Word* value) {
  const CursorNote note = read_note(cursor);
  if (is_ours(note)) {
    const bool is_at_frame = note.pc != 0;
    if (number == rip) return *value = note.pc, 0;
    if (number == rsp && is_at_frame) return *value = note.sp, 0;
    if (number == rbp && is_at_frame && note.knows_fp != 0) return *value = note.fp, 0;
  }
  return answer<&Steps::get_reg>(cursor, number, value);
}

int _ULx86_64_set_reg(void* cursor, int number, Word value) {
  return answer<&Steps::set_reg>(cursor, number, value);
}
int _ULx86_64_get_fpreg(void* cursor, int number, long double* value) {
  return answer<&Steps::get_fpreg>(cursor, number, value);
}
int _ULx86_64_set_fpreg(void* cursor, int number, long double value) {
  return answer<&Steps::set_fpreg>(cursor, number, value);
}
int _ULx86_64_get_proc_info(void* cursor, void* information) {
  return answer<&Steps::get_proc_info>(cursor, information);
}
int _ULx86_64_get_proc_name(void* cursor, char* buffer, std::size_t size, Word* offset) {
  return answer<&Steps::get_proc_name>(cursor, buffer, size, offset);
}
int _ULx86_64_is_signal_frame(void* cursor) {
  return answer<&Steps::is_signal_frame>(cursor);
}
int _ULx86_64_resume(void* cursor) {
  return answer<&Steps::resume>(cursor);
}
int _ULx86_64_get_save_loc(void* cursor, int number, void* location) {
  return answer<&Steps::get_save_loc>(cursor, number, location);
}
int _ULx86_64_reg_states_iterate(void* cursor, void* callback, void* token) {
  return answer<&Steps::reg_states_iterate>(cursor, callback, token);
}
int _ULx86_64_apply_reg_state(void* cursor, void* state) {
  return answer<&Steps::apply_reg_state>(cursor, state);
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
#pragma GCC visibility pop

#else

namespace sframe_gen::backtrace {
void find_libunwinds_steps() {}
}  // namespace sframe_gen::backtrace

#endif
