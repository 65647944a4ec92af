#include <array>
#include <string_view>

#include "rows/stubs/forms.hpp"
#include "rows/stubs/pattern.hpp"

/// The stubs of aarch64 as linkers write them: the CFA is sp where a stub begins, and the return address is in x30.
/// Only the header stores it, in the upper of the two words that it pushes. Looked at: GNU ld 2.40 and 2.47, gold 1.16,
/// lld 14 and 22, mold 1.10 and 2.42. Code is little-endian on big-endian machines too.
namespace sframe_gen::rows::stubs {

namespace {

constexpr cfi::Rules rules_at(std::int64_t cfa_offset, cfi::RegisterRule return_address = {},
                              cfi::RegisterRule frame_pointer = {}) {
  return {.cfa = cfi::Formula{cfi::aarch64::tracked.stack_pointer, cfa_offset, false},
          .stack_pointer = {},
          .frame_pointer = frame_pointer,
          .return_address = return_address};
}

constexpr cfi::Formula at_cfa_minus(std::int64_t offset) {
  return {std::nullopt, -offset, true};
}

/// As at the beginning.
constexpr cfi::Rules at_call = rules_at(0);
/// After stp x16, x30, [sp, #-16]!
constexpr cfi::Rules saved = rules_at(16, at_cfa_minus(8));
/// After stp x2, x3, [sp, #-16]!
constexpr cfi::Rules pushed = rules_at(16);
/// After stp x29, x30, [sp, #-16]!
constexpr cfi::Rules frame_saved = rules_at(16, at_cfa_minus(8), at_cfa_minus(16));

constexpr Pattern header(std::string_view text, std::uint8_t behind_store) {
  return aarch64_pattern_of({text}, {{0, at_call}, {behind_store, saved}});
}

/// An entry changes neither sp nor x30.
constexpr Pattern entry(std::string_view text) {
  return aarch64_pattern_of({text}, {{0, at_call}});
}

/// Resolves TLS descriptors, called like a function; twice as long as a plain entry.
constexpr Pattern descriptor_entry(std::string_view text, std::uint8_t behind_store) {
  return aarch64_pattern_of({text}, {{0, at_call}, {behind_store, pushed}});
}

constexpr Pattern plain_header = header("stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 nop nop nop", 4);
constexpr Pattern brk_header = header("stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 brk brk brk", 4);
constexpr Pattern bti_header = header("bti stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 nop nop", 8);

constexpr Pattern plain = entry("adrp16:slot ldr17:slot add16:slot br17");
/// GNU ld 2.47 adds no zero.
constexpr Pattern plain_nop = entry("adrp16:slot ldr17:slot nop br17");
constexpr Pattern bti = entry("bti adrp16:slot ldr17:slot add16:slot br17 nop");
constexpr Pattern bti_nop = entry("bti adrp16:slot ldr17:slot nop br17 nop");
constexpr Pattern pac = entry("adrp16:slot ldr17:slot add16:slot autia1716 br17 nop");
constexpr Pattern pac_nop = entry("adrp16:slot ldr17:slot nop autia1716 br17 nop");
constexpr Pattern bti_pac = entry("bti adrp16:slot ldr17:slot add16:slot autia1716 br17");
constexpr Pattern bti_pac_nop = entry("bti adrp16:slot ldr17:slot nop autia1716 br17");
/// lld's entries of programs with BTI whose address is not taken begin without the instruction.
constexpr Pattern late_nops = entry("adrp16:slot ldr17:slot add16:slot br17 nop nop");
constexpr Pattern jump_nop = entry("adrp16:slot ldr17:slot br17 nop");
constexpr Pattern jump_brk = entry("adrp16:slot ldr17:slot br17 brk");

constexpr Pattern descriptor = descriptor_entry("stp2 adrp2:slot adrp3:table ldr2:slot add3:table br2 nop nop", 4);
constexpr Pattern bti_descriptor = descriptor_entry("bti stp2 adrp2:slot adrp3:table ldr2:slot add3:table br2 nop", 8);

constexpr decltype(Form::entries) wide{&bti, &bti_nop, &pac, &pac_nop, &bti_pac, &bti_pac_nop, &late_nops};
constexpr decltype(Form::last) last{&descriptor, &bti_descriptor};

constexpr auto forms = std::to_array<Form>({
    Form{"plain", &plain_header, {&plain, &plain_nop}, last},
    Form{"mold", &brk_header, {&plain}},
    Form{"BTI", &bti_header, {&plain, &plain_nop}, last},
    Form{"signed pointers", &plain_header, wide, last},
    Form{"BTI, wide entries", &bti_header, wide, last},
    // Sections without a header: .plt.got, .iplt, and .plt of static programs.
    Form{"jumps of 16 bytes", nullptr, {&plain, &plain_nop, &jump_nop, &jump_brk}},
    Form{"jumps of 24 bytes", nullptr, wide},
});

constexpr cfi::Rules with_signed_address(cfi::Rules rules) {
  rules.signing = cfi::Signing::Signed;
  return rules;
}

/// nop; stp x29, x30, [sp, #-16]!; mov x29, sp; what is between; ldp x29, x30, [sp], #16; ret
constexpr Pattern end_of(std::string_view text, std::uint8_t size, std::string_view padding) {
  const auto behind = static_cast<std::uint8_t>(16 + size);
  return aarch64_pattern_of({"nop stp29 mov29", text, "ldp29 ret", padding},
                            {{0, at_call}, {8, frame_saved}, {behind, at_call}});
}

/// The same between paciasp and autiasp.
constexpr Pattern signed_end_of(std::string_view text, std::uint8_t size, std::string_view padding) {
  const auto behind = static_cast<std::uint8_t>(16 + size);
  return aarch64_pattern_of({"paciasp stp29 mov29", text, "ldp29 autiasp ret", padding},
                            {{0, at_call},
                             {4, with_signed_address(at_call)},
                             {8, with_signed_address(frame_saved)},
                             {behind, with_signed_address(at_call)},
                             {static_cast<std::uint8_t>(behind + 4), at_call}});
}

/// _init calls what calls __gmon_start__, if it is there. mold makes the size a multiple of 8.
constexpr auto ends = std::to_array<Pattern>({
    end_of("bl", 4, ""),
    end_of("", 0, ""),
    signed_end_of("bl", 4, ""),
    signed_end_of("", 0, ""),
    end_of("bl", 4, "brk"),
    end_of("", 0, "brk"),
    signed_end_of("bl", 4, "brk"),
    signed_end_of("", 0, "brk"),
});

}  // namespace

std::span<const Form> aarch64_forms() {
  return forms;
}

/// The forms in glibc 2.36 and 2.41.
std::span<const Pattern> aarch64_ends() {
  return ends;
}

}  // namespace sframe_gen::rows::stubs
