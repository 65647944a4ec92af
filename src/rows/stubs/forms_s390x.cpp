#include <array>
#include <string_view>

#include "rows/stubs/forms.hpp"
#include "rows/stubs/pattern.hpp"

/// The stubs of s390x as linkers write them. None changes r15, r14 or r11: the words that a header stores lie in the
/// save area that the caller has left for it. Looked at: GNU ld 2.40 and 2.47, lld 22, mold 1.10 and 2.42; gold and
/// lld 14 do not link for it.
namespace sframe_gen::rows::stubs {

namespace {

constexpr cfi::Rules rules_at(std::int64_t cfa_offset, cfi::RegisterRule return_address = {}) {
  return {.cfa = cfi::Formula{cfi::s390x::tracked.stack_pointer, cfa_offset, false},
          .stack_pointer = {},
          .frame_pointer = {},
          .return_address = return_address};
}

/// The CFA is 160 above the stack pointer of the caller (s390x ABI, section 1.2.2.1).
constexpr Pattern stub(std::string_view text) {
  return pattern_of({text}, Spelling::Halfwords, {{0, rules_at(160)}});
}

/// stg %r1,56(%r15); larl %r1,GOT; mvc 48(8,%r15),8(%r1); lg %r1,16(%r1); br %r1
constexpr Pattern lazy_header = stub("e310f0380024 c010 table d207f0301008 e31010100004 07f1 070007000700");
/// larl %r1,slot; lg %r1,0(%r1); br %r1; basr %r1,%r0; lgf %r1,12(%r1); jg header; the symbol's relocation
constexpr Pattern lazy_entry = stub("c010 slot e31010000004 07f1 0d10 e310100c0014 c0f4 header any");
constexpr Pattern headless_entry = stub("c010 slot e31010000004 07f1 0d10 e310100c0014 c0f4 any any");
constexpr Pattern mold_1_header = stub("e300f0380024 c010 table d207f0301008 e31010100004 07f1 070007000700");
constexpr Pattern mold_1_entry = stub("c010 slot e31010000004 c001 any 07f1 070007000700070007000700");
/// Works out the entry's number from the return address of its basr.
constexpr Pattern mold_2_header =
    stub("b9090001 a70bffc2 eb100001000c b9080001 e300f0380024 c010 table d207f0301008 e31010100004 07f1 00000000");
constexpr Pattern mold_2_entry = stub("c010 slot e31010000004 0d01 0000");
constexpr Pattern jump = stub("c010 slot e31010000004 07f1 0700");
constexpr Pattern mold_jump = stub("c010 slot e31010000004 07f1 0000");

constexpr auto forms = std::to_array<Form>({
    Form{"GNU ld, lld", &lazy_header, {&lazy_entry}},
    Form{"mold 1", &mold_1_header, {&mold_1_entry}},
    Form{"mold 2", &mold_2_header, {&mold_2_entry}},
    // Sections without a header: .plt.got, .iplt, and .plt of static programs.
    Form{"entries of 32 bytes", nullptr, {&lazy_entry, &headless_entry}},
    Form{"jumps of 16 bytes", nullptr, {&jump, &mold_jump}},
});

/// stmg %r6,%r15,48(%r15); lgr %r1,%r15; aghi %r15,-160; stg %r1,0(%r15); larl %r12,GOT; what is between;
/// lg %r4,272(%r15); lmg %r6,%r15,208(%r15); br %r4; nopr. r14 is stored 112 above the stack pointer; r11 stays as it
/// is.
constexpr Pattern end_of(std::string_view text, std::uint8_t size) {
  constexpr std::uint8_t stored = 6, lowered = 14, before = 26;
  constexpr cfi::Formula saved{std::nullopt, 112 - 160, true};
  return pattern_of(
      {"eb6ff0300024 b904001f a7fbff60 e310f0000024 c0c0 any", text, "e340f1100004 eb6ff0d00004 07f4 0707"},
      Spelling::Halfwords,
      {{0, rules_at(160)},
       {stored, rules_at(160, saved)},
       {lowered, rules_at(320, saved)},
       {static_cast<std::uint8_t>(before + size + 12), rules_at(160)}});
}

/// _init calls __gmon_start__, if it is there: larl %r1,slot; lg %r1,0(%r1); ltgr %r1,%r1; je; basr.
constexpr auto ends =
    std::to_array<Pattern>({end_of("c010 slot e31010000004 b9020011 a7840003 0de1", 22), end_of("0707", 2)});

}  // namespace

/// The forms in glibc 2.36.
std::span<const Pattern> s390x_ends() {
  return ends;
}

std::span<const Form> s390x_forms() {
  return forms;
}

}  // namespace sframe_gen::rows::stubs
