#include <string>
#include <utility>

#include "stubs/forms.hpp"

/// The stubs of aarch64 as linkers write them: the CFA is sp where a stub begins, and the return address is in x30.
/// Only the header stores it, in the upper of the two words that it pushes. Looked at: GNU ld 2.40 and 2.47, gold 1.16,
/// lld 14 and 22, mold 1.10 and 2.42. Code is little-endian on big-endian machines too.
namespace sframe_gen::stubs {

namespace {

/// As at the beginning.
cfi::Rules at_call() {
  cfi::Rules rules;
  rules.cfa = cfi::Formula{cfi::aarch64::tracked.stack_pointer, 0, false};
  return rules;
}

/// Behind stp x16, x30, [sp, #-16]!
cfi::Rules saved() {
  cfi::Rules rules;
  rules.cfa = cfi::Formula{cfi::aarch64::tracked.stack_pointer, 16, false};
  rules.return_address = cfi::Formula{std::nullopt, -8, true};
  return rules;
}

/// Behind stp x2, x3, [sp, #-16]!
cfi::Rules pushed() {
  cfi::Rules rules = at_call();
  rules.cfa = cfi::Formula{cfi::aarch64::tracked.stack_pointer, 16, false};
  return rules;
}

Pattern header(std::string_view text, std::uint8_t behind_store) {
  return aarch64_pattern_of(text, {{0, at_call()}, {behind_store, saved()}});
}

/// An entry changes neither sp nor x30.
Pattern entry(std::string_view text) {
  return aarch64_pattern_of(text, {{0, at_call()}});
}

/// Resolves TLS descriptors, called like a function; twice as long as a plain entry.
Pattern descriptor_entry(std::string_view text, std::uint8_t behind_store) {
  return aarch64_pattern_of(text, {{0, at_call()}, {behind_store, pushed()}});
}

std::vector<Form> all_forms() {
  const auto plain_header = [] {
    return header("stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 nop nop nop", 4);
  };
  const auto brk_header = [] {
    return header("stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 brk brk brk", 4);
  };
  const auto bti_header = [] {
    return header("bti stp adrp16:table+16 ldr17:table+16 add16:table+16 br17 nop nop", 8);
  };
  const auto plain = [] { return entry("adrp16:slot ldr17:slot add16:slot br17"); };
  // GNU ld 2.47 adds no zero.
  const auto plain_nop = [] { return entry("adrp16:slot ldr17:slot nop br17"); };
  const auto bti = [] { return entry("bti adrp16:slot ldr17:slot add16:slot br17 nop"); };
  const auto bti_nop = [] { return entry("bti adrp16:slot ldr17:slot nop br17 nop"); };
  const auto pac = [] { return entry("adrp16:slot ldr17:slot add16:slot autia1716 br17 nop"); };
  const auto pac_nop = [] { return entry("adrp16:slot ldr17:slot nop autia1716 br17 nop"); };
  const auto bti_pac = [] { return entry("bti adrp16:slot ldr17:slot add16:slot autia1716 br17"); };
  const auto bti_pac_nop = [] { return entry("bti adrp16:slot ldr17:slot nop autia1716 br17"); };
  // lld's entries of programs with BTI whose address nobody takes begin without the instruction.
  const auto late_nops = [] { return entry("adrp16:slot ldr17:slot add16:slot br17 nop nop"); };
  const auto wide = [&] {
    return std::vector{bti(), bti_nop(), pac(), pac_nop(), bti_pac(), bti_pac_nop(), late_nops()};
  };
  const auto last = [] {
    return std::vector{descriptor_entry("stp2 adrp2:slot adrp3:table ldr2:slot add3:table br2 nop nop", 4),
                       descriptor_entry("bti stp2 adrp2:slot adrp3:table ldr2:slot add3:table br2 nop", 8)};
  };
  return {
      {"plain", plain_header(), {plain(), plain_nop()}, last()},
      {"mold", brk_header(), {plain()}},
      {"BTI", bti_header(), {plain(), plain_nop()}, last()},
      {"signed pointers", plain_header(), wide(), last()},
      {"BTI, wide entries", bti_header(), wide(), last()},
      // Sections without a header: .plt.got, .iplt, and .plt of static programs.
      {"jumps of 16 bytes",
       {},
       {plain(), plain_nop(), entry("adrp16:slot ldr17:slot br17 nop"), entry("adrp16:slot ldr17:slot br17 brk")}},
      {"jumps of 24 bytes", {}, wide()},
  };
}

/// Behind stp x29, x30, [sp, #-16]!
cfi::Rules frame_saved() {
  cfi::Rules rules = saved();
  rules.frame_pointer = cfi::Formula{std::nullopt, -16, true};
  return rules;
}

cfi::Rules with_signed_address(cfi::Rules rules) {
  rules.signing = cfi::Signing::Signed;
  return rules;
}

/// nop; stp x29, x30, [sp, #-16]!; mov x29, sp; what is between; ldp x29, x30, [sp], #16; ret
Pattern end_of(const std::string& text, std::uint8_t size, const std::string& padding) {
  const auto behind = static_cast<std::uint8_t>(16 + size);
  return aarch64_pattern_of("nop stp29 mov29 " + text + "ldp29 ret" + padding,
                            {{0, at_call()}, {8, frame_saved()}, {behind, at_call()}});
}

/// The same between paciasp and autiasp.
Pattern signed_end_of(const std::string& text, std::uint8_t size, const std::string& padding) {
  const auto behind = static_cast<std::uint8_t>(16 + size);
  return aarch64_pattern_of("paciasp stp29 mov29 " + text + "ldp29 autiasp ret" + padding,
                            {{0, at_call()},
                             {4, with_signed_address(at_call())},
                             {8, with_signed_address(frame_saved())},
                             {behind, with_signed_address(at_call())},
                             {static_cast<std::uint8_t>(behind + 4), at_call()}});
}

std::vector<Pattern> all_ends() {
  std::vector<Pattern> ends;
  for (const char* const padding : {"", " brk"}) {  // mold makes the size a multiple of 8
    // _init calls what calls __gmon_start__, if it is there.
    ends.push_back(end_of("bl ", 4, padding));
    ends.push_back(end_of("", 0, padding));
    ends.push_back(signed_end_of("bl ", 4, padding));
    ends.push_back(signed_end_of("", 0, padding));
  }
  return ends;
}

}  // namespace

const std::vector<Form>& aarch64_forms() {
  static const std::vector<Form> forms = all_forms();
  return forms;
}

/// Of glibc 2.36 and 2.41.
const std::vector<Pattern>& aarch64_ends() {
  static const std::vector<Pattern> ends = all_ends();
  return ends;
}

}  // namespace sframe_gen::stubs
