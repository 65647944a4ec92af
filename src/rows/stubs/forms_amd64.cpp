#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "rows/stubs/forms.hpp"
#include "rows/stubs/pattern.hpp"

/// The stubs of x86-64 as linkers write them. A call pushes the return address, so the CFA is rsp + 8 where a stub
/// begins; whatever pushes adds 8. The header is entered after the push of an entry. Looked at: GNU ld 2.40 and 2.47,
/// gold 1.16, lld 14 and 22, mold 1.10 and 2.42; the bnd prefixes are GNU ld's up to 2.39, where MPX was supported.
namespace sframe_gen::rows::stubs {

namespace {

constexpr cfi::Rules rules_at(std::int64_t cfa_offset,
                              cfi::RegisterRule return_address = cfi::Formula{std::nullopt, -8, true}) {
  return {.cfa = cfi::Formula{cfi::amd64::rsp, cfa_offset, false},
          .stack_pointer = {},
          .frame_pointer = {},
          .return_address = return_address};
}

/// Rows by offset into the stub and offset of the CFA from rsp; 0 stands for none.
struct At {
  std::uint8_t offset;
  std::int64_t cfa_offset;
};

constexpr Pattern stub(std::initializer_list<std::string_view> texts, std::initializer_list<At> rows) {
  PatternRows stub_rows;
  for (const At& row : rows)
    stub_rows.push_back({row.offset, row.cfa_offset == 0 ? std::nullopt : std::optional(rules_at(row.cfa_offset))});
  return pattern_of(texts, Spelling::Relative, stub_rows);
}

constexpr Pattern stub(std::string_view text, std::initializer_list<At> rows) {
  return stub({text}, rows);
}

/// push GOT+8(%rip); jmp *GOT+16(%rip)
constexpr Pattern lazy_header = stub("ff35 table+8 ff25 table+16 0f1f4000", {{0, 16}, {6, 24}});
constexpr Pattern gold_header = stub("ff35 table+8 ff25 table+16 90909090", {{0, 16}, {6, 24}});
constexpr Pattern bnd_header = stub("ff35 table+8 f2ff25 table+16 0f1f00", {{0, 16}, {6, 24}});

/// jmp *slot(%rip); push $index; jmp header
constexpr Pattern lazy_entry = stub("ff25 slot 68 any e9 header", {{0, 8}, {11, 16}});
constexpr Pattern bnd_entry = stub("68 any f2e9 header 0f1f440000", {{0, 8}, {5, 16}});
/// endbr64; push $index; jmp header: what the slot of an entry of .plt.sec leads to at first.
constexpr Pattern ibt_entry = stub("f30f1efa 68 any e9 header 6690", {{0, 8}, {9, 16}});
constexpr Pattern gold_ibt_entry = stub("f30f1efa 68 any e9 header 9090", {{0, 8}, {9, 16}});
constexpr Pattern ibt_bnd_entry = stub("f30f1efa 68 any f2e9 header 90", {{0, 8}, {9, 16}});
/// Entries of undefined weak functions in static PIEs, which are never called: GNU ld leaves their numbers and their
/// distances to the header at zero.
constexpr Pattern absent_entry = stub("ff25 slot 6800000000 e900000000", {{0, 8}, {11, 16}});
constexpr Pattern absent_ibt_entry = stub("f30f1efa 6800000000 e900000000 6690", {{0, 8}, {9, 16}});
/// endbr64; jmp *slot(%rip)
constexpr Pattern ibt_jump = stub("f30f1efa ff25 slot 660f1f440000", {{0, 8}});
constexpr Pattern gold_ibt_jump = stub("f30f1efa ff25 slot 0f1f04009090", {{0, 8}});
constexpr Pattern lld_ibt_jump = stub("f30f1efa ff25 slot cccccccccccc", {{0, 8}});
constexpr Pattern ibt_bnd_jump = stub("f30f1efa f2ff25 slot 0f1f440000", {{0, 8}});
/// jmp *slot(%rip)
constexpr Pattern jump = stub("ff25 slot 6690", {{0, 8}});
constexpr Pattern lld_jump = stub("ff25 slot cccc", {{0, 8}});
constexpr Pattern bnd_jump = stub("f2ff25 slot 90", {{0, 8}});
/// .iplt in a program without .plt: the jump to its header goes to address 0 (lld), or just on (GNU ld). It is never
/// reached, as the slots of .iplt have been filled before the program begins.
constexpr Pattern headless_entry = stub("ff25 slot 68 any e9 nowhere", {{0, 8}, {11, 16}});

/// The resolver of TLS descriptors, called like a function: push GOT+8(%rip); jmp *slot(%rip)
constexpr Pattern descriptor_entry = stub("f30f1efa ff35 table+8 ff25 slot", {{0, 8}, {10, 16}});
constexpr Pattern old_descriptor_entry = stub("ff35 table+8 ff25 slot 0f1f4000", {{0, 8}, {6, 16}});

/// The header pushes what all entries have in r11.
constexpr Pattern mold_header =
    stub("f30f1efa 4153 ff35 table+8 ff25 table+16 cccccccccccccccccccccccccccc", {{0, 8}, {6, 16}, {12, 24}});
constexpr Pattern mold_entry = stub("41bb any ff25 slot cccccccc", {{0, 8}});
constexpr Pattern mold_ibt_entry = stub("f30f1efa 41bb any ff25 slot", {{0, 8}});

/// From 0x20 on the header replaces its caller's return address by r11 and returns: to the dynamic linker where the
/// header itself has called it, to the function where an entry has. The two have different CFAs. What follows a
/// call is for the processor's guesses only.
constexpr Pattern retpoline_header =
    stub("ff35 table+8 4c8b1d table+16 e80e000000 f3900faee8ebf9 cccccccccccccc 4c891c24c3 cccccccccccccccccccccc",
         {{0, 16}, {6, 24}, {18, 0}});
constexpr Pattern retpoline_entry =
    stub("4c8b1d slot e8 header+32 e9 header+18 68 any e9 header cccccccccc", {{0, 8}, {22, 16}});
constexpr Pattern bound_retpoline_header =
    stub("e80b000000 f3900faee8ebf9 cccccccc 4c891c24c3 cccccccccccccccccccccc", {{0, 8}, {5, 0}, {16, 16}});
constexpr Pattern bound_retpoline_entry = stub("4c8b1d slot e9 header cccccccc", {{0, 8}});

constexpr auto forms = std::to_array<Form>({
    Form{"GNU ld, lld",
         &lazy_header,
         {&lazy_entry, &ibt_entry, &absent_entry, &absent_ibt_entry, &descriptor_entry, &old_descriptor_entry}},
    Form{"gold", &gold_header, {&lazy_entry, &gold_ibt_entry, &gold_ibt_jump, &old_descriptor_entry}},
    Form{"GNU ld, bnd", &bnd_header, {&bnd_entry, &ibt_bnd_entry, &descriptor_entry, &old_descriptor_entry}},
    Form{"mold", &mold_header, {&mold_entry, &mold_ibt_entry}},
    Form{"lld, retpoline", &retpoline_header, {&retpoline_entry}},
    Form{"lld, retpoline, bound at once", &bound_retpoline_header, {&bound_retpoline_entry}},
    // Sections without a header: .plt.sec, .plt.got, .iplt, and .plt of static programs.
    Form{"jumps of 16 bytes", nullptr, {&ibt_jump, &lld_ibt_jump, &ibt_bnd_jump, &lazy_entry, &headless_entry}},
    Form{"jumps of 8 bytes", nullptr, {&jump, &lld_jump, &bnd_jump}},
    Form{"lld, retpoline, .iplt", nullptr, {&retpoline_entry}},
    Form{"lld, retpoline, bound at once, .iplt", nullptr, {&bound_retpoline_entry}},
});

/// sub $8,%rsp; what is between; add $8,%rsp; ret
constexpr Pattern end_of(std::string_view begin, std::string_view text, std::uint8_t size) {
  const auto at = static_cast<std::uint8_t>(begin.size() / 2);
  const auto inside = static_cast<std::uint8_t>(at + 4), behind = static_cast<std::uint8_t>(inside + size + 4);
  return stub({begin, "4883ec08", text, "4883c408 c3"}, {{0, 8}, {inside, 16}, {behind, 8}});
}

/// __gmon_start__, if it is there: mov slot(%rip),%rax; test %rax,%rax; je; call *%rax
constexpr std::string_view by_slot = "488b05 slot 4885c0 7402 ffd0";
/// Its address, where the linker knows it, which is 0 if it is not there: lea N(%rip),%rax or mov $0,%rax.
constexpr std::string_view by_address = "488d05 any 4885c0 7402 ffd0";
constexpr std::string_view absent = "48c7c000000000 4885c0 7402 ffd0";
constexpr std::string_view endbr64 = "f30f1efa";

constexpr auto ends = std::to_array<Pattern>(
    {end_of("", by_slot, 14), end_of(endbr64, by_slot, 14), end_of("", by_address, 14), end_of(endbr64, by_address, 14),
     end_of("", absent, 14), end_of(endbr64, absent, 14), end_of("", "", 0), end_of(endbr64, "", 0),
     // musl: push %rax; pop %rax; ret
     stub("50 58 c3", {{0, 8}, {1, 16}, {2, 8}})});

/// xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call: nothing has called it, and what it calls
/// ends the program.
constexpr auto starts = std::to_array<Pattern>({pattern_of({"4831ed 4889e7 488d35 any 4883e4f0 e8 any"},
                                                           Spelling::Relative, {{0, rules_at(8, cfi::Undefined{})}})});

}  // namespace

std::span<const Form> amd64_forms() {
  return forms;
}

/// The forms in glibc 2.36 and 2.41, and musl 1.2.
std::span<const Pattern> amd64_ends() {
  return ends;
}

/// The forms in musl since 1.1.
std::span<const Pattern> amd64_starts() {
  return starts;
}

}  // namespace sframe_gen::rows::stubs
