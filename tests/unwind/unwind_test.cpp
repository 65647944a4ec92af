// Steps over hand-made stacks of every machine, and each reason to stop.

#include "sframe_gen/unwind.hpp"

#include <gtest/gtest.h>

#include <map>

#include "emit/dialects.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe_gen/encode.hpp"
#include "sframe_gen/stack_walker.hpp"
#include "support/endian.hpp"
#include "unwind/row_cache.hpp"

namespace sframe_gen::unwind::test {
namespace {

using sframe::Abi;
using sframe::Fde;
using sframe::RecoveryRules;
using sframe::Rule;

constexpr std::uint64_t section_address = 0x8000;
constexpr std::uint64_t stack = 0x7ffe0000;

/// A stack: words by address, as a machine of one byte order has them.
struct Memory {
  std::map<std::uint64_t, std::uint64_t> words;
  Endian endian = Endian::Little;

  static bool read(void* context, std::uint64_t address, void* bytes) {
    const auto& memory = *static_cast<const Memory*>(context);
    const auto found = memory.words.find(address);
    if (found == memory.words.end()) return false;
    store({static_cast<std::byte*>(bytes), 8}, found->second, memory.endian);
    return true;
  }
};

Fde function_at(std::uint64_t start, std::optional<RecoveryRules> recovery) {
  Fde function;
  function.start = start;
  function.size = 0x100;
  function.fres.push_back({0, recovery});
  return function;
}
Fde flexible_at(std::uint64_t start, const RecoveryRules& recovery) {
  Fde function = function_at(start, recovery);
  function.type = sframe::FdeType::Flexible;
  return function;
}

/// A program of one module.
class Program {
 public:
  Program(Abi abi, const OutputFormat& format, const std::vector<Fde>& functions, std::uint64_t bias = 0) {
    const emit::Dialect dialect = sframe_gen::test::dialect_of(abi, format);
    sframe_gen::test::SpelledEncoder encoder(dialect);
    for (const Fde& function : functions) encoder.add(function);
    bytes_ = encoder.encode(section_address);
    const bool is_ctf = format.version == sframe::Version::CtfFrame;
    const auto fault = view_.open(bytes_, section_address, is_ctf ? sframe::Family::CtfFrame : sframe::Family::SFrame);
    EXPECT_FALSE(fault) << sframe::text_of(fault.problem);
    module_ = {bias, bias + 0x8000, bias, &view_};
    memory.endian = dialect.abi->endian;
  }

  Walked walked() {
    Walked made;
    made.modules = {&module_, 1};
    made.read = Memory::read;
    made.context = &memory;
    return made;
  }
  Stop step(Registers& registers) { return Unwinder(walked()).step(registers); }

  Memory memory;

 protected:
  std::vector<std::byte> bytes_;
  sframe::SectionView view_;
  Module module_;
};

/// At an instruction, with SP and FP known.
Registers at(std::uint64_t pc, std::uint32_t sp_number, std::uint64_t sp, std::uint32_t fp_number, std::uint64_t fp) {
  Registers registers;
  registers.pc = pc;
  registers.set(sp_number, sp);
  registers.set(fp_number, fp);
  return registers;
}
Registers amd64_at(std::uint64_t pc, std::uint64_t sp = stack, std::uint64_t fp = 0) {
  return at(pc, 7, sp, 6, fp);
}

class Amd64Versions : public testing::TestWithParam<OutputFormat> {};

/// sp+8; sp+32 with the FP saved; fp+16; then no row, in all versions.
TEST_P(Amd64Versions, WalksThreeFrames) {
  for (const std::uint64_t bias : {0U, 0x5550000U}) {
    Program program(Abi::Amd64, GetParam(),
                    {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)}),
                     function_at(0x2000, RecoveryRules{Rule::register_plus(6, 16), std::nullopt, Rule::at_cfa(-16)}),
                     function_at(0x3000, RecoveryRules{Rule::register_plus(7, 32), std::nullopt, Rule::at_cfa(-24)})},
                    bias);
    // At the end of its function, as after the call of one that does not return.
    program.memory.words = {{stack, bias + 0x3100},
                            {stack + 16, stack + 64},
                            {stack + 32, bias + 0x2080},
                            {stack + 64, stack + 0x200},
                            {stack + 72, bias + 0x4000}};
    Registers registers = amd64_at(bias + 0x1000);
    std::uint64_t pcs[10];
    Stop stop{};
    ASSERT_EQ(Unwinder(program.walked()).walk(registers, pcs, stop), 4U);
    EXPECT_EQ(pcs[1], bias + 0x3100);
    EXPECT_EQ(pcs[2], bias + 0x2080);
    EXPECT_EQ(pcs[3], bias + 0x4000);
    EXPECT_EQ(stop, Stop::NoRow);
    EXPECT_EQ(registers.values[7], stack + 80);
    EXPECT_EQ(registers.values[6], stack + 0x200);
    EXPECT_EQ(registers.known, 0xc0U);
  }
}
INSTANTIATE_TEST_SUITE_P(Unwind, Amd64Versions,
                         testing::Values(sframe_gen::test::v3, sframe_gen::test::v2, sframe_gen::test::v2_from_section,
                                         sframe_gen::test::v1, sframe_gen::test::ctf_frame));

TEST(Unwind, StopsWhereThePcsAreFull) {
  Program program(Abi::Amd64, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)})});
  program.memory.words = {{stack, 0x1010}, {stack + 8, 0x1020}, {stack + 16, 0x1030}};
  Registers registers = amd64_at(0x1000);
  std::uint64_t pcs[3];
  Stop stop{};
  EXPECT_EQ(Unwinder(program.walked()).walk(registers, pcs, stop), 3U);
  EXPECT_EQ(stop, Stop::Stepped);
  EXPECT_EQ(pcs[2], 0x1020U);
}

TEST(Unwind, RemembersRows) {
  Program program(Abi::Amd64, {},
                  {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)}), function_at(0x2000, std::nullopt)});
  program.memory.words = {{stack, 0x1010}, {stack + 8, 0x2001}};
  RowSlot rows[4]{};
  Walked walked = program.walked();
  walked.rows = rows;
  for (int round = 0; round < 2; ++round) {
    Registers registers = amd64_at(0x1000);
    std::uint64_t pcs[9];
    Stop stop{};
    EXPECT_EQ(Unwinder(walked).walk(registers, pcs, stop), 3U);
    EXPECT_EQ(stop, Stop::Outermost);
    // The second time no module is needed for what is remembered.
    std::size_t used = 0;
    for (const RowSlot& slot : rows) used += slot.words[0] == 2;
    EXPECT_GE(used, 2U);
  }
}

/// A link saves time where it is right, and changes nothing where it is not.
TEST(RowCache, LeadsToTheRowThatFollowedFirst) {
  RowSlot slots[64]{};
  const RowCache cache(slots);
  constexpr std::uint64_t callee = 0x1010, caller = 0x2020, other_caller = 0x3030;
  PackedRow row;
  std::map<std::uint64_t, std::uint32_t> slot_of;
  for (const std::uint64_t pc : {callee, caller, other_caller}) {
    row.cfa_offset = static_cast<std::int32_t>(pc);
    slot_of[pc] = cache.put(pc, row, 7);
  }
  cache.link(slot_of[callee], slot_of[caller]);
  cache.link(slot_of[callee], slot_of[other_caller]);
  RowCache::Place found;
  ASSERT_TRUE(cache.find(callee, row, found));
  EXPECT_EQ(found.module, 7U);
  ASSERT_EQ(found.next, slot_of[caller]);
  for (const std::uint32_t slot : {0U, 63U, slot_of[caller], slot_of[other_caller]}) {
    for (const std::uint64_t pc : {caller, other_caller}) {
      ASSERT_EQ(cache.read(slot, pc, row, found), slot == slot_of[pc]) << slot;
      ASSERT_TRUE(cache.find(pc, row, found));
      EXPECT_EQ(row.cfa_offset, static_cast<std::int32_t>(pc));
      EXPECT_EQ(found.slot, slot_of[pc]);
    }
    EXPECT_FALSE(cache.read(slot, 0x4040, row, found));
  }
  EXPECT_FALSE(cache.find(0x4040, row, found));
  // What is written over has no old link.
  cache.put(caller, row, 8);
  ASSERT_TRUE(cache.read(slot_of[caller], caller, row, found));
  EXPECT_EQ(found.module, 8U);
  EXPECT_EQ(found.next, 0U);
}

TEST(Unwind, SaysWhyItStops) {
  Program program(Abi::Amd64, {},
                  {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)}), function_at(0x2000, std::nullopt),
                   flexible_at(0x3000, {Rule::register_plus(3, 8)}),
                   function_at(0x4000, RecoveryRules{Rule::register_plus(6, 16)})});
  const auto stop_at = [&](Registers registers) {
    const Registers before = registers;
    const Stop stop = program.step(registers);
    const bool kept = registers.pc == before.pc && registers.known == before.known &&
                      registers.values[7] == before.values[7] && registers.values[6] == before.values[6];
    EXPECT_TRUE(kept || stop == Stop::Stepped);
    return stop;
  };
  EXPECT_EQ(stop_at(amd64_at(0x2000)), Stop::Outermost);
  EXPECT_EQ(stop_at(amd64_at(0x9000)), Stop::NoModule);
  EXPECT_EQ(stop_at(amd64_at(0x5000)), Stop::NoRow);
  EXPECT_EQ(stop_at(amd64_at(0x1000)), Stop::UnreadableMemory);
  EXPECT_EQ(stop_at(amd64_at(0x3000)), Stop::UnknownRegister);
  Registers without_fp;
  without_fp.pc = 0x4000;
  without_fp.set(7, stack);
  EXPECT_EQ(stop_at(without_fp), Stop::UnknownRegister);
  // The frame pointer leads down the stack: a caller's frame cannot be there.
  program.memory.words = {{stack - 24, 0x1000}, {stack, 0}};
  EXPECT_EQ(stop_at(amd64_at(0x4000, stack, stack - 32)), Stop::NoProgress);
  EXPECT_EQ(stop_at(amd64_at(0x1000)), Stop::Outermost) << "a return address of 0";
}

/// By frame pointer, of code in no module only.
Stop step_by_frame_pointer(void* context, Registers& registers, Stop why) {
  if (why != Stop::NoModule) return why;
  const std::uint64_t frame = registers.values[6];
  const auto word = [context](std::uint64_t address, std::uint64_t& value) {
    return Memory::read(context, address, &value);
  };
  std::uint64_t pc = 0, caller_frame = 0;
  if (!word(frame, caller_frame) || !word(frame + 8, pc)) return Stop::UnreadableMemory;
  if (pc == 0) return Stop::Outermost;
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.set(7, frame + 16);
  registers.set(6, caller_frame);
  return Stop::Stepped;
}

TEST(Unwind, AsksTheFallbackWhereThereIsNoRow) {
  Program program(Abi::Amd64, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)})});
  // From a row to code without any, by its frame pointer back to a row, and once more.
  program.memory.words = {{stack, 0x9000},        {stack + 0x20, stack + 0x50},
                          {stack + 0x28, 0x1010}, {stack + 0x30, 0x9100},
                          {stack + 0x50, 0},      {stack + 0x58, 0}};
  Walked walked = program.walked();
  std::uint64_t pcs[9];
  Stop stop{};
  Registers registers = amd64_at(0x1000, stack, stack + 0x20);
  EXPECT_EQ(Unwinder(walked).walk(registers, pcs, stop), 2U);
  EXPECT_EQ(stop, Stop::NoModule);
  walked.fallback = step_by_frame_pointer;
  registers = amd64_at(0x1000, stack, stack + 0x20);
  EXPECT_EQ(Unwinder(walked).walk(registers, pcs, stop), 4U);
  EXPECT_EQ(stop, Stop::Outermost);
  EXPECT_EQ(std::vector<std::uint64_t>(pcs, pcs + 4), (std::vector<std::uint64_t>{0x1000, 0x9000, 0x1010, 0x9100}));
  // What it does not want to do it leaves.
  registers = amd64_at(0x5000);
  EXPECT_EQ(Unwinder(walked).step(registers), Stop::NoRow);
  // One that leads nowhere ends the walk.
  walked.fallback = [](void*, Registers&, Stop) { return Stop::Stepped; };
  EXPECT_EQ(Unwinder(walked).step(registers), Stop::NoProgress);
}

std::vector<std::byte> encoded(std::uint64_t start, std::int32_t cfa_offset) {
  sframe::Section section;
  section.address = section_address;
  section.fdes = {function_at(start, RecoveryRules{Rule::register_plus(7, cfa_offset)})};
  return sframe::encode(section);
}

TEST(StackWalker, ForgetsWhatHasChanged) {
  Memory memory;
  memory.words = {{stack, 0x2000}, {stack + 8, 0x3001}, {stack + 24, 0x4000}};
  StackWalker walker(Memory::read, &memory);
  const auto walk = [&walker] {
    Registers registers = amd64_at(0x2000);
    std::vector<std::uint64_t> pcs(9);
    Stop stop{};
    pcs.resize(walker.walk(registers, pcs, stop));
    EXPECT_EQ(stop, Stop::NoModule);
    return pcs;
  };
  using Pcs = std::vector<std::uint64_t>;
  EXPECT_EQ(walk(), (Pcs{0x2000}));
  const std::vector<std::byte> bytes = encoded(0x2000, 16);
  EXPECT_FALSE(walker.add(0x2000, 0x3000, 0, bytes, section_address));
  EXPECT_EQ(walk(), (Pcs{0x2000, 0x3001}));
  // A module before it, with a bias, and other code in the place of the first.
  EXPECT_FALSE(walker.add(0x1000, 0x1800, std::uint64_t{0x1000} - 0x40000, encoded(0x40000, 8), section_address));
  EXPECT_FALSE(walker.add(0x2000, 0x2800, 0, encoded(0x2000, 32), section_address));
  EXPECT_EQ(walker.modules().size(), 3U) << "the rest of the first one is there still";
  EXPECT_EQ(walk(), (Pcs{0x2000, 0x4000}));
  walker.remove(0x2000, 0x2001);
  EXPECT_EQ(walk(), (Pcs{0x2000}));
  walker.add(0x2000, 0x2800);
  Registers registers = amd64_at(0x2000);
  EXPECT_EQ(walker.step(registers), Stop::NoSection);
  EXPECT_TRUE(walker.add(0x2000, 0x2800, 0, std::vector<std::byte>(4), section_address)) << "damaged";
  EXPECT_EQ(walker.step(registers), Stop::NoSection);
}

TEST(Unwind, SaysThatAModuleHasNoSection) {
  const Module module{0x1000, 0x2000, 0, nullptr};
  Walked walked;
  walked.modules = {&module, 1};
  Registers registers = amd64_at(0x1000);
  EXPECT_EQ(Unwinder(walked).step(registers), Stop::NoSection);
  const sframe::SectionView closed;
  const Module with_closed{0x1000, 0x2000, 0, &closed};
  walked.modules = {&with_closed, 1};
  EXPECT_EQ(Unwinder(walked).step(registers), Stop::NoSection);
}

TEST(Unwind, FindsModulesInAnyOrder) {
  Program low(Abi::Amd64, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)})}, 0x10000);
  Program high(Abi::Amd64, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 16)})}, 0x40000);
  Program other(Abi::S390x, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(15, 160)})}, 0x80000);
  const Module a = low.walked().modules[0];
  const Module b = high.walked().modules[0];
  const Module c = other.walked().modules[0];
  low.memory.words = {{stack, 0x41010}, {stack + 16, 0x81000}};
  for (const std::vector<Module>& modules : {std::vector{a, b, c}, std::vector{b, a, c}}) {
    Walked walked = low.walked();
    walked.modules = modules;
    Registers registers = amd64_at(0x11000);
    std::uint64_t pcs[9];
    Stop stop{};
    EXPECT_EQ(Unwinder(walked).walk(registers, pcs, stop), 3U);
    EXPECT_EQ(stop, Stop::BadSection) << "of another machine";
  }
}

TEST(Unwind, StopsAtDamage) {
  Program program(Abi::Amd64, {}, {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8)})});
  struct Damaged : Program {
    explicit Damaged(const Program& whole) : Program(whole) {
      bytes_[28 + 16 + 5 + 2] = std::byte{0x7f};  // info, behind a start of two bytes: 15 words of 8 bytes
      EXPECT_FALSE(view_.open(bytes_, section_address, sframe::Family::SFrame, sframe::ViewCheck::Header));
      module_.view = &view_;
    }
  } damaged(program);
  Registers registers = amd64_at(0x1000);
  EXPECT_EQ(damaged.step(registers), Stop::BadSection);
}

constexpr std::uint32_t x29 = 29, x30 = 30, aarch64_sp = 31;

class Aarch64 : public testing::TestWithParam<Abi> {};

TEST_P(Aarch64, LeafThenFrameRecord) {
  for (const OutputFormat& format : {sframe_gen::test::v3, sframe_gen::test::v2, sframe_gen::test::v1}) {
    Program program(
        GetParam(), format,
        {function_at(0x1000, RecoveryRules{Rule::in_register(aarch64_sp)}),
         function_at(0x2000, RecoveryRules{Rule::register_plus(x29, 32), Rule::at_cfa(-24), Rule::at_cfa(-32)})});
    program.memory.words = {{stack, stack + 0x100}, {stack + 8, 0x1004}};
    Registers registers = at(0x1008, aarch64_sp, stack, x29, stack);
    EXPECT_EQ(program.step(registers), Stop::UnknownRegister) << "x30 is not known";
    registers.set(x30, 0x2010);
    ASSERT_EQ(program.step(registers), Stop::Stepped);
    EXPECT_EQ(registers.pc, 0x2010U);
    EXPECT_FALSE(registers.knows(x30));
    ASSERT_EQ(program.step(registers), Stop::Stepped);
    EXPECT_EQ(registers.pc, 0x1004U);
    EXPECT_EQ(registers.values[aarch64_sp], stack + 32);
    EXPECT_EQ(registers.values[x29], stack + 0x100);
    // A caller has made a call, so its return address is in x30 no longer.
    EXPECT_EQ(program.step(registers), Stop::UnknownRegister);
  }
}

TEST_P(Aarch64, TakesSignaturesOff) {
  RecoveryRules recovery{Rule::register_plus(aarch64_sp, 16), Rule::at_cfa(-8), Rule::at_cfa(-16)};
  recovery.mangled_ra = true;
  Program program(GetParam(), {}, {function_at(0x1000, recovery)});
  constexpr std::uint64_t mask = 0x007f000000000000;
  Walked walked = program.walked();
  walked.signature_mask = mask;
  const auto caller_of = [&](std::uint64_t signed_address) {
    program.memory.words = {{stack, 0}, {stack + 8, signed_address}};
    Registers registers = at(0x1000, aarch64_sp, stack, x29, 0);
    EXPECT_EQ(Unwinder(walked).step(registers), Stop::Stepped);
    return registers.pc;
  };
  EXPECT_EQ(caller_of(0x002a000012345678), 0x12345678U);
  EXPECT_EQ(caller_of(0xffd5ff8012345678), 0xffffff8012345678U) << "a kernel's";
}
INSTANTIATE_TEST_SUITE_P(Unwind, Aarch64, testing::Values(Abi::Aarch64Little, Abi::Aarch64Big));

TEST(Unwind, S390xStackPointerIsBelowTheCfa) {
  constexpr std::uint32_t r11 = 11, r14 = 14, r15 = 15, f0 = 16;
  for (const OutputFormat& format : {sframe_gen::test::v3_flexible, sframe_gen::test::v2}) {
    // A leaf that keeps r14 in a floating-point register, below one that saves r14 and r11.
    RecoveryRules leaf{Rule::register_plus(r15, 160), Rule::in_register(f0)};
    Fde first = function_at(0x1000, leaf);
    if (format.version == sframe::Version::V3) first = flexible_at(0x1000, leaf);
    Program program(Abi::S390x, format,
                    {first, function_at(0x2000, RecoveryRules{Rule::register_plus(r11, 320), Rule::at_cfa(-48),
                                                              Rule::at_cfa(-72)})});
    Registers registers = at(0x1004, r15, stack, r11, stack);
    registers.set(r14, 0xbad);
    registers.set(f0, 0x2010);
    program.memory.words = {{stack + 320 - 48, 0x1010}, {stack + 320 - 72, 0x42}};
    ASSERT_EQ(program.step(registers), Stop::Stepped);
    EXPECT_EQ(registers.pc, 0x2010U);
    EXPECT_EQ(registers.values[r15], stack);
    ASSERT_EQ(program.step(registers), Stop::Stepped);
    EXPECT_EQ(registers.pc, 0x1010U);
    EXPECT_EQ(registers.values[r15], stack + 160);
    EXPECT_EQ(registers.values[r11], 0x42U);
    EXPECT_EQ(program.step(registers), Stop::UnknownRegister);
  }
}

/// As glibc's __restore_rt has it: all registers of the interrupted code are in an array at sp+40.
Program with_signal_frame() {
  Fde trampoline =
      flexible_at(0x1000, {Rule::at_register(7, 160), Rule::at_register(7, 168), Rule::at_register(7, 120)});
  trampoline.signal_frame = true;
  Program program(Abi::Amd64, sframe_gen::test::v3_flexible,
                  {trampoline, flexible_at(0x2000, {Rule::register_plus(3, 16)}), function_at(0x3000, std::nullopt)});
  for (std::uint64_t i = 0; i < 17; ++i) program.memory.words[stack + 40 + 8 * i] = i;
  program.memory.words[stack + 40 + 8 * 11] = stack + 0x1000;  // rbx
  program.memory.words[stack + 160] = stack - 0x5000;          // rsp: of another stack
  program.memory.words[stack + 168] = 0x2000;                  // rip: at the first byte of a function
  program.memory.words[stack + 0x1008] = 0x3004;
  return program;
}

TEST(Unwind, KnowsAllRegistersAfterASignalFrame) {
  Program whole = with_signal_frame();
  Registers registers = amd64_at(0x1000);
  // The view moved along with its program.
  sframe::SectionView view = *whole.walked().modules[0].view;
  const Module module{0, 0x8000, 0, &view};
  Walked walked = whole.walked();
  walked.modules = {&module, 1};
  const Unwinder unwinder(walked);
  ASSERT_EQ(unwinder.step(registers), Stop::Stepped);
  EXPECT_EQ(registers.pc, 0x2000U);
  EXPECT_EQ(registers.pc_is_exact, 1U);
  EXPECT_EQ(registers.values[7], stack - 0x5000);
  EXPECT_EQ(registers.values[6], 10U);
  EXPECT_EQ(registers.known, 0xffffU);
  EXPECT_EQ(registers.values[15], 7U);
  ASSERT_EQ(unwinder.step(registers), Stop::Stepped) << "CFA = rbx + 16";
  EXPECT_EQ(registers.pc, 0x3004U);
  EXPECT_EQ(registers.pc_is_exact, 0U);
  EXPECT_EQ(unwinder.step(registers), Stop::Outermost);
}

TEST(Unwind, LeavesAFrameThatComesBackToItself) {
  Fde trampoline =
      flexible_at(0x1000, {Rule::at_register(7, 160), Rule::at_register(7, 168), Rule::at_register(7, 120)});
  trampoline.signal_frame = true;
  Program program(Abi::Amd64, sframe_gen::test::v3_flexible, {trampoline});
  program.memory.words = {{stack + 160, stack}, {stack + 168, 0x1000}, {stack + 120, 0}};
  Registers registers = amd64_at(0x1000);
  EXPECT_EQ(program.step(registers), Stop::NoProgress);
}

TEST(Unwind, DoesWithoutAFramePointer) {
  Program program(Abi::Amd64, {},
                  {function_at(0x1000, RecoveryRules{Rule::register_plus(7, 8), std::nullopt, Rule::at_cfa(-400)})});
  program.memory.words = {{stack, 0x1010}};
  Registers registers = amd64_at(0x1000);
  ASSERT_EQ(program.step(registers), Stop::Stepped);
  EXPECT_FALSE(registers.knows(6));
  EXPECT_TRUE(registers.knows(7));
}

TEST(Unwind, NamesEachReason) {
  for (int stop = 0; stop <= static_cast<int>(Stop::BadSection); ++stop) {
    EXPECT_STRNE(text_of(static_cast<Stop>(stop)), "");
  }
}

}  // namespace
}  // namespace sframe_gen::unwind::test
