#include <string>
#include <utility>

#include "stubs/forms.hpp"

/// The stubs of s390x as linkers write them. None changes r15, r14 or r11: the words that a header stores lie in the
/// save area that the caller has left for it. Looked at: GNU ld 2.40 and 2.47, lld 22, mold 1.10 and 2.42; gold and
/// lld 14 do not link for it.
namespace sframe_gen::stubs {

namespace {

/// The CFA is 160 above the stack pointer of the caller (s390x ABI, section 1.2.2.1).
Pattern stub(std::string_view text) {
  cfi::Rules rules;
  rules.cfa = cfi::Formula{cfi::s390x::tracked.stack_pointer, 160, false};
  return pattern_of(text, Spelling::Halfwords, {{0, rules}});
}

std::vector<Form> all_forms() {
  // larl %r1,slot; lg %r1,0(%r1); br %r1; basr %r1,%r0; lgf %r1,12(%r1); jg header; the symbol's relocation
  const auto lazy = [] { return stub("c010 slot e31010000004 07f1 0d10 e310100c0014 c0f4 header any"); };
  return {
      // stg %r1,56(%r15); larl %r1,GOT; mvc 48(8,%r15),8(%r1); lg %r1,16(%r1); br %r1
      {"GNU ld, lld", stub("e310f0380024 c010 table d207f0301008 e31010100004 07f1 070007000700"), {lazy()}},
      {"mold 1",
       stub("e300f0380024 c010 table d207f0301008 e31010100004 07f1 070007000700"),
       {stub("c010 slot e31010000004 c001 any 07f1 070007000700070007000700")}},
      // Works out the entry's number from the return address of its basr.
      {"mold 2",
       stub("b9090001 a70bffc2 eb100001000c b9080001 e300f0380024 c010 table d207f0301008 e31010100004 07f1 00000000"),
       {stub("c010 slot e31010000004 0d01 0000")}},
      // Sections without a header: .plt.got, .iplt, and .plt of static programs.
      {"entries of 32 bytes", {}, {lazy(), stub("c010 slot e31010000004 07f1 0d10 e310100c0014 c0f4 any any")}},
      {"jumps of 16 bytes", {}, {stub("c010 slot e31010000004 07f1 0700"), stub("c010 slot e31010000004 07f1 0000")}},
  };
}

/// stmg %r6,%r15,48(%r15); lgr %r1,%r15; aghi %r15,-160; stg %r1,0(%r15); larl %r12,GOT; what is between;
/// lg %r4,272(%r15); lmg %r6,%r15,208(%r15); br %r4; nopr. r14 is stored 112 above the stack pointer; r11 stays as it
/// is.
Pattern end_of(const std::string& text, std::uint8_t size) {
  const auto rules = [](std::int64_t cfa_offset, bool saved) {
    cfi::Rules found;
    found.cfa = cfi::Formula{cfi::s390x::tracked.stack_pointer, cfa_offset, false};
    if (saved) found.return_address = cfi::Formula{std::nullopt, 112 - 160, true};
    return found;
  };
  constexpr std::uint8_t stored = 6, lowered = 14, before = 26;
  return pattern_of(
      "eb6ff0300024 b904001f a7fbff60 e310f0000024 c0c0 any" + text + " e340f1100004 eb6ff0d00004 07f4 0707",
      Spelling::Halfwords,
      {{0, rules(160, false)},
       {stored, rules(160, true)},
       {lowered, rules(320, true)},
       {static_cast<std::uint8_t>(before + size + 12), rules(160, false)}});
}

}  // namespace

/// Of glibc 2.36. _init calls __gmon_start__, if it is there: larl %r1,slot; lg %r1,0(%r1); ltgr %r1,%r1; je; basr.
const std::vector<Pattern>& s390x_ends() {
  static const std::vector<Pattern> ends{end_of(" c010 slot e31010000004 b9020011 a7840003 0de1", 22),
                                         end_of(" 0707", 2)};
  return ends;
}

const std::vector<Form>& s390x_forms() {
  static const std::vector<Form> forms = all_forms();
  return forms;
}

}  // namespace sframe_gen::stubs
