#include <initializer_list>
#include <string>
#include <utility>

#include "stubs/forms.hpp"

/// The stubs of x86-64 as linkers write them. A call pushes the return address, so the CFA is rsp + 8 where a stub
/// begins; whatever pushes adds 8. The header is entered behind the push of an entry. Looked at: GNU ld 2.40 and 2.47,
/// gold 1.16, lld 14 and 22, mold 1.10 and 2.42; the bnd prefixes are GNU ld's up to 2.39, where MPX was supported.
namespace sframe_gen::stubs {

namespace {

cfi::Rules rules_at(std::int64_t cfa_offset) {
  cfi::Rules rules;
  rules.cfa = cfi::Formula{cfi::amd64::rsp, cfa_offset, false};
  rules.return_address = cfi::Formula{std::nullopt, -8, true};
  return rules;
}

/// Rows by offset into the stub and offset of the CFA from rsp; 0 stands for none.
struct At {
  std::uint8_t offset;
  std::int64_t cfa_offset;
};

Pattern stub(std::string_view text, std::initializer_list<At> rows) {
  std::vector<StubRow> stub_rows;
  for (const At& row : rows)
    stub_rows.push_back({row.offset, row.cfa_offset == 0 ? std::nullopt : std::optional(rules_at(row.cfa_offset))});
  return pattern_of(text, Spelling::Relative, std::move(stub_rows));
}

/// push GOT+8(%rip); jmp *GOT+16(%rip)
Pattern lazy_header() {
  return stub("ff35 table+8 ff25 table+16 0f1f4000", {{0, 16}, {6, 24}});
}
Pattern gold_header() {
  return stub("ff35 table+8 ff25 table+16 90909090", {{0, 16}, {6, 24}});
}
Pattern bnd_header() {
  return stub("ff35 table+8 f2ff25 table+16 0f1f00", {{0, 16}, {6, 24}});
}

/// jmp *slot(%rip); push $index; jmp header
Pattern lazy_entry() {
  return stub("ff25 slot 68 any e9 header", {{0, 8}, {11, 16}});
}
/// endbr64; push $index; jmp header: what the slot of an entry of .plt.sec leads to at first.
Pattern ibt_entry() {
  return stub("f30f1efa 68 any e9 header 6690", {{0, 8}, {9, 16}});
}
/// endbr64; jmp *slot(%rip)
Pattern ibt_jump(std::string_view padding) {
  return stub("f30f1efa ff25 slot " + std::string(padding), {{0, 8}});
}

/// The resolver of TLS descriptors, called like a function: push GOT+8(%rip); jmp *slot(%rip)
Pattern descriptor_entry() {
  return stub("f30f1efa ff35 table+8 ff25 slot", {{0, 8}, {10, 16}});
}
Pattern old_descriptor_entry() {
  return stub("ff35 table+8 ff25 slot 0f1f4000", {{0, 8}, {6, 16}});
}

Form mold_form() {
  // The header pushes what all entries have in r11.
  return {"mold",
          stub("f30f1efa 4153 ff35 table+8 ff25 table+16 cccccccccccccccccccccccccccc", {{0, 8}, {6, 16}, {12, 24}}),
          {stub("41bb any ff25 slot cccccccc", {{0, 8}}), stub("f30f1efa 41bb any ff25 slot", {{0, 8}})}};
}

Form lazy_retpoline_form() {
  // From 0x20 on the header replaces its caller's return address by r11 and returns: to the dynamic linker where the
  // header itself has called it, to the function where an entry has. The two have different CFAs. What stands behind a
  // call is for the processor's guesses only.
  return {"lld, retpoline",
          stub("ff35 table+8 4c8b1d table+16 e80e000000 f3900faee8ebf9 cccccccccccccc 4c891c24c3 "
               "cccccccccccccccccccccc",
               {{0, 16}, {6, 24}, {18, 0}}),
          {stub("4c8b1d slot e8 header+32 e9 header+18 68 any e9 header cccccccccc", {{0, 8}, {22, 16}})}};
}

Form bound_retpoline_form() {
  return {"lld, retpoline, bound at once",
          stub("e80b000000 f3900faee8ebf9 cccccccc 4c891c24c3 cccccccccccccccccccccc", {{0, 8}, {5, 0}, {16, 16}}),
          {stub("4c8b1d slot e9 header cccccccc", {{0, 8}})}};
}

std::vector<Form> all_forms() {
  const auto second = [] { return ibt_jump("660f1f440000"); };
  const auto gold_second = [] { return ibt_jump("0f1f04009090"); };
  const auto gold_ibt_entry = [] { return stub("f30f1efa 68 any e9 header 9090", {{0, 8}, {9, 16}}); };
  const auto bnd_entry = [] { return stub("68 any f2e9 header 0f1f440000", {{0, 8}, {5, 16}}); };
  const auto ibt_bnd_entry = [] { return stub("f30f1efa 68 any f2e9 header 90", {{0, 8}, {9, 16}}); };
  return {
      {"GNU ld, lld", lazy_header(), {lazy_entry(), ibt_entry(), descriptor_entry(), old_descriptor_entry()}},
      {"gold", gold_header(), {lazy_entry(), gold_ibt_entry(), gold_second(), old_descriptor_entry()}},
      {"GNU ld, bnd", bnd_header(), {bnd_entry(), ibt_bnd_entry(), descriptor_entry(), old_descriptor_entry()}},
      mold_form(),
      lazy_retpoline_form(),
      bound_retpoline_form(),
      // Sections without a header: .plt.sec, .plt.got, .iplt, and .plt of static programs.
      {"jumps of 16 bytes",
       {},
       {second(), ibt_jump("cccccccccccc"), stub("f30f1efa f2ff25 slot 0f1f440000", {{0, 8}}), lazy_entry(),
        // lld's .iplt in a program without .plt: the jump to its header goes to address 0. It is never reached, as the
        // slots of .iplt have been filled before the program begins.
        stub("ff25 slot 68 any e9 any", {{0, 8}, {11, 16}})}},
      {"jumps of 8 bytes",
       {},
       {stub("ff25 slot 6690", {{0, 8}}), stub("ff25 slot cccc", {{0, 8}}), stub("f2ff25 slot 90", {{0, 8}})}},
      {"lld, retpoline, .iplt",
       {},
       {stub("4c8b1d slot e8 header+32 e9 header+18 68 any e9 header cccccccccc", {{0, 8}, {22, 16}})}},
      {"lld, retpoline, bound at once, .iplt", {}, {stub("4c8b1d slot e9 header cccccccc", {{0, 8}})}},
  };
}

std::vector<Pattern> all_ends() {
  // sub $8,%rsp; what is between; add $8,%rsp; ret
  const auto between = [](const std::string& begin, const std::string& text, std::uint8_t size) {
    const auto at = static_cast<std::uint8_t>(begin.size() / 2);
    const auto inside = static_cast<std::uint8_t>(at + 4), behind = static_cast<std::uint8_t>(inside + size + 4);
    return stub(begin + "4883ec08 " + text + " 4883c408 c3", {{0, 8}, {inside, 16}, {behind, 8}});
  };
  // __gmon_start__, if it is there: mov slot(%rip),%rax; test %rax,%rax; je; call *%rax
  const std::string by_slot = "488b05 slot 4885c0 7402 ffd0";
  // Its address, where the linker knows it, which is 0 if it is not there: lea N(%rip),%rax or mov $0,%rax.
  const std::string by_address = "488d05 any 4885c0 7402 ffd0";
  const std::string absent = "48c7c000000000 4885c0 7402 ffd0";
  const std::string ibt = "f30f1efa";
  return {between("", by_slot, 14), between(ibt, by_slot, 14), between("", by_address, 14),
          between(ibt, by_address, 14), between("", absent, 14), between(ibt, absent, 14), between("", "", 0),
          between(ibt, "", 0),
          // musl: push %rax; pop %rax; ret
          stub("50 58 c3", {{0, 8}, {1, 16}, {2, 8}})};
}

/// xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call: nobody has called it, and what it calls
/// ends the program.
std::vector<Pattern> all_starts() {
  cfi::Rules outermost = rules_at(8);
  outermost.return_address = cfi::Undefined{};
  return {pattern_of("4831ed 4889e7 488d35 any 4883e4f0 e8 any", Spelling::Relative, {{0, outermost}})};
}

}  // namespace

const std::vector<Form>& amd64_forms() {
  static const std::vector<Form> forms = all_forms();
  return forms;
}

/// Of glibc 2.36 and 2.41, and musl 1.2.
const std::vector<Pattern>& amd64_ends() {
  static const std::vector<Pattern> ends = all_ends();
  return ends;
}

/// Of musl since 1.1.
const std::vector<Pattern>& amd64_starts() {
  static const std::vector<Pattern> starts = all_starts();
  return starts;
}

}  // namespace sframe_gen::stubs
