// The C interface is the C++ one in other words: its structures have the same layout, so none is copied.

#include "sframe_gen/unwind.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/backtrace.hpp"
#include "unwind/modules.hpp"
#include "unwind/stack_memory.hpp"

// A function that hands on what it was called with: a compiler would have changed SP and FP before any code of ours.
#if defined(__x86_64__)
asm(R"(
        .text
        .globl  sframe_unwind_backtrace
        .type   sframe_unwind_backtrace, @function
sframe_unwind_backtrace:
        .cfi_startproc
        leaq    8(%rsp), %rdx
        movq    (%rsp), %rcx
        movq    %rbp, %r8
        jmp     sframe_gen_backtrace_from
        .cfi_endproc
        .size   sframe_unwind_backtrace, . - sframe_unwind_backtrace

        .globl  sframe_unwind_backtrace_here
        .type   sframe_unwind_backtrace_here, @function
sframe_unwind_backtrace_here:
        .cfi_startproc
        leaq    8(%rsp), %rax
        movq    (%rsp), %rcx
        movq    %rcx, (%rdi)            # pc
        movq    %rbp, 56(%rdi)          # values[6], [7]
        movq    %rax, 64(%rdi)
        movq    $0xc0, 264(%rdi)        # known, pc_is_exact
        ret
        .cfi_endproc
        .size   sframe_unwind_backtrace_here, . - sframe_unwind_backtrace_here
)");
#elif defined(__aarch64__)
asm(R"(
        .text
        .globl  sframe_unwind_backtrace
        .type   sframe_unwind_backtrace, %function
sframe_unwind_backtrace:
        .cfi_startproc
        hint    #34     // bti c
        mov     x2, sp
        mov     x3, x30
        mov     x4, x29
        b       sframe_gen_backtrace_from
        .cfi_endproc
        .size   sframe_unwind_backtrace, . - sframe_unwind_backtrace

        .globl  sframe_unwind_backtrace_here
        .type   sframe_unwind_backtrace_here, %function
sframe_unwind_backtrace_here:
        .cfi_startproc
        hint    #34     // bti c
        mov     x1, sp
        mov     w2, #0xa0000000
        str     w2, [x0, #264]          // known, pc_is_exact
        str     wzr, [x0, #268]
        str     x30, [x0]               // pc
        str     x29, [x0, #8 + 29 * 8]  // values[29], [31]
        str     x1, [x0, #8 + 31 * 8]
        ret
        .cfi_endproc
        .size   sframe_unwind_backtrace_here, . - sframe_unwind_backtrace_here
)");
#elif defined(__s390x__)
// The fifth argument's register is the caller's.
asm(R"(
        .text
        .globl  sframe_unwind_backtrace
        .type   sframe_unwind_backtrace, @function
sframe_unwind_backtrace:
        .cfi_startproc
        stmg    %r6, %r15, 48(%r15)
        .cfi_offset 6, -112
        .cfi_offset 14, -48
        .cfi_offset 15, -40
        lgr     %r4, %r15
        lgr     %r5, %r14
        lgr     %r6, %r11
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, sframe_gen_backtrace_from
        lmg     %r6, %r15, 208(%r15)
        .cfi_adjust_cfa_offset -160
        br      %r14
        .cfi_endproc
        .size   sframe_unwind_backtrace, . - sframe_unwind_backtrace

        .globl  sframe_unwind_backtrace_here
        .type   sframe_unwind_backtrace_here, @function
sframe_unwind_backtrace_here:
        .cfi_startproc
        stg     %r14, 0(%r2)            # pc
        stg     %r11, 8 + 11 * 8(%r2)   # values[11], [15]
        stg     %r15, 8 + 15 * 8(%r2)
        llill   %r1, 0x8800
        st      %r1, 264(%r2)           # known, pc_is_exact
        mvhi    268(%r2), 0
        br      %r14
        .cfi_endproc
        .size   sframe_unwind_backtrace_here, . - sframe_unwind_backtrace_here
)");
#endif
#if SFRAME_GEN_EXPORTED == 0
asm(".hidden sframe_unwind_backtrace\n.hidden sframe_unwind_backtrace_here");
#endif

namespace {

using sframe_gen::sframe::Lookup;
using sframe_gen::sframe::PageSlot;
using sframe_gen::sframe::SectionView;
using sframe_gen::unwind::Module;
using sframe_gen::unwind::Registers;
using sframe_gen::unwind::RowSlot;
using sframe_gen::unwind::StackMemory;
using sframe_gen::unwind::Stop;
using sframe_gen::unwind::Unwinder;
using sframe_gen::unwind::Walked;

static_assert(sizeof(SectionView) <= sizeof(sframe_unwind_view));
static_assert(std::is_trivially_copyable_v<SectionView> && std::is_trivially_destructible_v<SectionView>);
static_assert(sizeof(Registers) == sizeof(sframe_unwind_registers) &&
              offsetof(Registers, values) == offsetof(sframe_unwind_registers, values) &&
              offsetof(Registers, known) == offsetof(sframe_unwind_registers, known) &&
              offsetof(Registers, pc_is_exact) == offsetof(sframe_unwind_registers, pc_is_exact));
// sframe_unwind_backtrace_here() writes these by number.
static_assert(offsetof(Registers, values) == 8 && offsetof(Registers, known) == 264 &&
              offsetof(Registers, pc_is_exact) == 268);
static_assert(sizeof(Module) == sizeof(sframe_unwind_module) &&
              offsetof(Module, bias) == offsetof(sframe_unwind_module, bias) &&
              offsetof(Module, view) == offsetof(sframe_unwind_module, view) &&
              offsetof(Module, second_view) == offsetof(sframe_unwind_module, second_view));
static_assert(sizeof(RowSlot) == sizeof(sframe_unwind_row_slot));
static_assert(sizeof(PageSlot) == sizeof(sframe_unwind_page_slot));
static_assert(SFRAME_UNWIND_LOOKUP_DAMAGED == static_cast<int>(Lookup::Kind::Damaged));
static_assert(SFRAME_UNWIND_BAD_SECTION == static_cast<int>(Stop::BadSection));

constexpr const char* wrong_argument_text = "an unknown flag or structure size";

const SectionView& view_of(const sframe_unwind_view* view) {
  return *reinterpret_cast<const SectionView*>(view);
}
Registers& registers_of(sframe_unwind_registers* registers) {
  return *reinterpret_cast<Registers*>(registers);
}

sframe_unwind_rule rule_of(const sframe_gen::sframe::Rule& rule) {
  return {rule.base_register.value_or(SFRAME_UNWIND_BASE_CFA), rule.offset, rule.dereferenced ? 1U : 0U};
}

/// Returns which of SFRAME_UNWIND_LOOKUP_….
int put(const Lookup& found, sframe_unwind_row& row) {
  row = {};
  if (found.kind == Lookup::Kind::Row) {
    row.cfa = rule_of(found.row.cfa);
    row.return_address = rule_of(*found.row.return_address);
    row.frame_pointer = rule_of(*found.row.frame_pointer);
    row.mangled_ra = found.row.mangled_ra ? 1 : 0;
    row.b_key = found.b_key ? 1 : 0;
    row.signal_frame = found.signal_frame ? 1 : 0;
  }
  row.function_start = found.function_start;
  row.function_size = found.function_size;
  row.descriptor = found.descriptor;
  row.row_number = found.row_number;
  return static_cast<int>(found.kind);
}

bool read_by_c(void* context, std::uint64_t address, void* bytes) {
  const auto& walked = *static_cast<const sframe_unwind_walked*>(context);
  return walked.read != nullptr && walked.read(walked.context, address, bytes) != 0;
}

Stop fallback_by_c(void* context, Registers& registers, Stop why) {
  const auto& walked = *static_cast<const sframe_unwind_walked*>(context);
  auto& given = reinterpret_cast<sframe_unwind_registers&>(registers);
  return static_cast<Stop>(walked.fallback(walked.context, &given, static_cast<int>(why)));
}

/// Bytes that the first version's header has of the structure: every caller's is as large.
constexpr std::size_t first_size = 72;
static_assert(offsetof(sframe_unwind_walked, fallback) + sizeof(sframe_unwind_walked::fallback) == first_size);

/// Whether the structure has what we read of it, and nothing that we do not know: a field of a later header than ours
/// must not be ignored.
bool is_known(const sframe_unwind_walked& walked) {
  if (walked.size < first_size) return false;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&walked);
  for (std::size_t i = sizeof walked; i < walked.size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

/// The flags of preparing.
bool are_known(unsigned flags) {
  constexpr unsigned known = SFRAME_UNWIND_PROVIDE_ALL | SFRAME_UNWIND_KEEP_FILES | SFRAME_UNWIND_TRUST_PROVIDED |
                             SFRAME_UNWIND_NO_PAGES | SFRAME_UNWIND_ONLY_PREPARED | SFRAME_UNWIND_KEEP_LISTS;
  return (flags & ~known) == 0;
}

Unwinder unwinder_of(const sframe_unwind_walked& walked) {
  Walked made;
  made.modules = {reinterpret_cast<const Module*>(walked.modules), walked.module_count};
  made.read = read_by_c;
  if (walked.fallback != nullptr) made.fallback = fallback_by_c;
  made.context = const_cast<sframe_unwind_walked*>(&walked);
  made.signature_mask = walked.signature_mask;
  made.rows = {reinterpret_cast<RowSlot*>(walked.rows), walked.row_slots};
  constexpr std::size_t generation_end = offsetof(sframe_unwind_walked, generation) + sizeof walked.generation;
  if (walked.size >= generation_end) made.generation = walked.generation;
  return Unwinder(made);
}

}  // namespace

extern "C" {

const char* sframe_unwind_version(void) {
  return SFRAME_GEN_VERSION_STRING;
}

int sframe_unwind_view_open(sframe_unwind_view* view, const void* bytes, std::size_t size, std::uint64_t address,
                            unsigned flags) {
  using namespace sframe_gen::sframe;
  auto* const opened = ::new (static_cast<void*>(view)) SectionView;
  constexpr unsigned known = SFRAME_UNWIND_VIEW_CTF_FRAME | SFRAME_UNWIND_VIEW_TRUST;
  if ((flags & ~known) != 0) return SFRAME_UNWIND_WRONG_ARGUMENT;
  const ViewFault fault =
      opened->open({static_cast<const std::byte*>(bytes), size}, address,
                   (flags & SFRAME_UNWIND_VIEW_CTF_FRAME) != 0 ? Family::CtfFrame : Family::SFrame,
                   (flags & SFRAME_UNWIND_VIEW_TRUST) != 0 ? ViewCheck::Header : ViewCheck::Everything);
  return static_cast<int>(fault.problem);
}

const char* sframe_unwind_view_problem(int problem) {
  if (problem == SFRAME_UNWIND_WRONG_ARGUMENT) return wrong_argument_text;
  return sframe_gen::sframe::text_of(static_cast<sframe_gen::sframe::Problem>(problem));
}

std::uint64_t sframe_unwind_view_page_slots(const sframe_unwind_view* view, std::uint64_t page_size) {
  return view_of(view).page_slots(page_size);
}

void sframe_unwind_view_use_pages(sframe_unwind_view* view, sframe_unwind_page_slot* slots, std::size_t count) {
  reinterpret_cast<SectionView*>(view)->use_pages({reinterpret_cast<PageSlot*>(slots), count});
}

int sframe_unwind_view_lookup(const sframe_unwind_view* view, std::uint64_t pc, sframe_unwind_row* row) {
  return put(view_of(view).lookup(pc), *row);
}

int sframe_unwind_view_lookup_stretch(const sframe_unwind_view* view, std::uint64_t pc, sframe_unwind_row* row,
                                      std::uint64_t* end) {
  return put(view_of(view).lookup_stretch(pc, *end), *row);
}

const char* sframe_unwind_stop_text(int stop) {
  if (stop == SFRAME_UNWIND_WRONG_ARGUMENT) return wrong_argument_text;
  return sframe_gen::unwind::text_of(static_cast<Stop>(stop));
}

int sframe_unwind_read_own_memory(void*, std::uint64_t address, void* bytes) {
  std::uint64_t word = 0;
  if (!StackMemory({}, {}).word(address, word)) return 0;
  std::memcpy(bytes, &word, sizeof word);
  return 1;
}

int sframe_unwind_step(const sframe_unwind_walked* walked, sframe_unwind_registers* registers) {
  if (!is_known(*walked)) return SFRAME_UNWIND_WRONG_ARGUMENT;
  return static_cast<int>(unwinder_of(*walked).step(registers_of(registers)));
}

std::size_t sframe_unwind_walk(const sframe_unwind_walked* walked, sframe_unwind_registers* registers,
                               std::uint64_t* pcs, std::size_t capacity, int* stop) {
  *stop = SFRAME_UNWIND_WRONG_ARGUMENT;
  if (!is_known(*walked)) return 0;
  Stop why{};
  const std::size_t count = unwinder_of(*walked).walk(registers_of(registers), {pcs, capacity}, why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_unwind_backtrace_stop(void** buffer, int size, const void* ucontext, int* stop) {
  Stop why{};
  const int count = sframe_gen::unwind::walk_interrupted(buffer, size, ucontext, why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_unwind_backtrace_interrupted(void** buffer, int size, const void* ucontext) {
  int stop = 0;
  return sframe_unwind_backtrace_stop(buffer, size, ucontext, &stop);
}

int sframe_unwind_backtrace_from(void** buffer, int size, sframe_unwind_registers* registers, int* stop) {
  Stop why{};
  const int count = sframe_gen::unwind::walk_from(buffer, size, registers_of(registers), why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_unwind_backtrace_frames(sframe_unwind_frame* frames, int size, sframe_unwind_registers* registers,
                                   int* stop) {
  Stop why{};
  const int count = sframe_gen::unwind::walk_from(frames, size, registers_of(registers), why);
  *stop = static_cast<int>(why);
  return count;
}

int sframe_unwind_backtrace_prepare(void) {
  return sframe_gen::unwind::look_at_modules({}, 0);
}

int sframe_unwind_backtrace_prepare_with(sframe_unwind_provide provide, void* context, unsigned flags) {
  if (!are_known(flags)) return EINVAL;
  return sframe_gen::unwind::look_at_modules({provide, nullptr, context}, flags);
}

int sframe_unwind_backtrace_prepare_files(sframe_unwind_provide_file provide, void* context, unsigned flags) {
  if (!are_known(flags)) return EINVAL;
  return sframe_gen::unwind::look_at_modules({nullptr, provide, context}, flags);
}

void sframe_unwind_backtrace_release(void) {
  sframe_gen::unwind::forget_modules();
}

int sframe_unwind_backtrace_add(const void* begin, const void* end, const void* bytes, size_t size, uint64_t address) {
  const sframe_gen::Range code{reinterpret_cast<std::uint64_t>(begin), reinterpret_cast<std::uint64_t>(end)};
  return sframe_gen::unwind::add_code(code, {static_cast<const std::byte*>(bytes), size}, address);
}

int sframe_unwind_backtrace_remove(const void* begin) {
  return sframe_gen::unwind::remove_code(reinterpret_cast<std::uint64_t>(begin));
}
}
