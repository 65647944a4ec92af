// What the rows of Go's functions say, and which functions get none.

#include "rows/go/functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <string>

#include "elf/go_file.hpp"
#include "elf/go_table.hpp"
#include "elf/image.hpp"

namespace sframe_gen::rows::go::test {
namespace {

using elf::test::Described;
using elf::test::FileForm;
using elf::test::GoFile;
using elf::test::outermost;
using elf::test::switches_stacks;
using elf::test::text_address;

const Described plain{{0x50, 0x58, 0xc3}, {{0, 1}, {8, 1}, {0, 1}}, 0, "main.plain"};
const Described of_c{{0xc3}, {}, 0, "c_function"};

std::string text_of(const cfi::RegisterRule& rule) {
  if (std::holds_alternative<cfi::Undefined>(rule)) return "undefined";
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  return formula == nullptr ? "unchanged" : "CFA" + std::to_string(formula->offset);
}

/// "0: sp+8 CFA-8 unchanged; 1: sp+16 CFA-8 CFA-16" are offset, CFA, RA and FP.
std::string text_of(const GoFunction& function) {
  if (function.gap) {
    constexpr std::array<const char*, 4> names{"switches stacks", "not called", "registers", "instructions"};
    return names[static_cast<std::size_t>(*function.gap)];
  }
  std::string text = function.signal_frame ? "signal frame " : "";
  for (const GoRow& row : function.rows) {
    if (row.pc_offset != 0) text += "; ";
    text += std::to_string(row.pc_offset) + ": sp+" + std::to_string(std::get<cfi::Formula>(row.rules.cfa).offset) +
            " " + text_of(row.rules.return_address) + " " + text_of(row.rules.frame_pointer);
  }
  return text;
}

std::string rows_of(const Described& function, const FileForm& form = {}) {
  const GoFile file({function}, form);
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  auto table = elf::GoTable::find(image);
  if (!table) return "no table";
  return text_of(Functions(image, std::move(*table)).function(0));
}

const Described go_121{{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3},
                       {{0, 1}, {8, 7}, {24, 5}, {8, 1}, {0, 1}}};
// sub $0x18,%rsp; mov %rbp,0x10(%rsp); lea 0x10(%rsp),%rbp; mov 0x10(%rsp),%rbp; add $0x18,%rsp; ret
const Described go_119{{0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c,
                        0x24, 0x10, 0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3},
                       {{0, 4}, {24, 19}, {0, 1}}};

Described with_byte(Described function, std::size_t at, std::uint8_t byte) {
  function.code[at] = byte;
  return function;
}

TEST(GoRows, FollowPushOfTheFramePointer) {
  EXPECT_EQ(rows_of(go_121),
            "0: sp+8 CFA-8 unchanged; 1: sp+16 CFA-8 CFA-16; 8: sp+32 CFA-8 CFA-16; "
            "13: sp+16 CFA-8 CFA-16; 14: sp+8 CFA-8 unchanged");
}

TEST(GoRows, FollowStoreOfTheFramePointer) {
  EXPECT_EQ(rows_of(go_119, {.magic = 0xfffffff0}),
            "0: sp+8 CFA-8 unchanged; 4: sp+32 CFA-8 unchanged; 9: sp+32 CFA-8 CFA-16; 23: sp+8 CFA-8 unchanged");
}

TEST(GoRows, LeaveAnUnusedFramePointerAlone) {
  EXPECT_EQ(rows_of({{0x50, 0x58, 0xc3}, {{0, 1}, {8, 1}, {0, 1}}}),
            "0: sp+8 CFA-8 unchanged; 1: sp+16 CFA-8 unchanged; 2: sp+8 CFA-8 unchanged");
}

TEST(GoRows, NeedTheFramePointerWhereItWasSaved) {
  EXPECT_EQ(rows_of(with_byte(go_121, 0, 0x50)), "registers");   // push %rax
  EXPECT_EQ(rows_of(with_byte(go_121, 13, 0x58)), "registers");  // pop %rax
  EXPECT_EQ(rows_of(with_byte(go_119, 8, 8), {.magic = 0xfffffff0}), "registers");
  EXPECT_EQ(rows_of(with_byte(go_119, 18, 8), {.magic = 0xfffffff0}), "registers");
  EXPECT_EQ(rows_of(with_byte(go_121, 0, 0xcc)), "registers");  // int3: control comes to no frame
  // mov %rax,%rbp, without a frame
  EXPECT_EQ(rows_of({{0x48, 0x89, 0xc5, 0xc3}, {{0, 4}}}), "registers");
}

TEST(GoRows, NeedInstructionsThatAgreeWithTheTable) {
  EXPECT_EQ(rows_of(with_byte(go_121, 7, 0x18)), "instructions");                    // sub $0x18,%rsp
  EXPECT_EQ(rows_of(with_byte(go_121, 0, 0x06)), "instructions");                    // no instruction
  EXPECT_EQ(rows_of(with_byte(go_121, 8, 0xc3)), "instructions");                    // ret, with a frame
  EXPECT_EQ(rows_of({{0x55, 0xeb, 0xfd, 0xc3}, {{0, 1}, {8, 3}}}), "instructions");  // a jump to the push
  EXPECT_EQ(rows_of({{0x90, 0xc3}, {{0, 1}, {8, 1}}}), "instructions");
}

TEST(GoRows, GoOnAfterCallsThatDoNotReturn) {
  // call; nop; and code without a frame
  EXPECT_EQ(rows_of({{0x50, 0xe8, 0, 0, 0, 0, 0x90, 0xc3}, {{0, 1}, {8, 6}, {0, 1}}}),
            "0: sp+8 CFA-8 unchanged; 1: sp+16 CFA-8 unchanged; 7: sp+8 CFA-8 unchanged");
}

/// Each instruction of padding at which the depth changes looks for the call before it.
TEST(GoRows, TakeNoTimeToGoOnAfterMuchPadding) {
  Described function{{0xe8, 0, 0, 0, 0}, {{0, 5}}};
  for (unsigned i = 0; i < 50000; ++i) {
    function.code.insert(function.code.end(), {0x90, 0x90});
    function.depths.insert(function.depths.end(), {{8, 1}, {0, 1}});
  }
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(rows_of(function).starts_with("0: sp+8 CFA-8 unchanged; 5: sp+16"));
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

TEST(GoRows, EndAtSwitchesOfStacks) {
  Described function = go_121;
  function.flags = switches_stacks;
  EXPECT_EQ(rows_of(function), "switches stacks");
  // mov %rax,%rsp, which the flag does not tell of
  EXPECT_EQ(rows_of({{0x48, 0x89, 0xc4, 0xc3}, {{0, 4}}}), "switches stacks");
}

TEST(GoRows, SayWhereStacksEnd) {
  Described function = go_121;
  function.flags = outermost | switches_stacks;
  EXPECT_EQ(rows_of(function), "0: sp+8 undefined unchanged");
}

TEST(GoRows, SayThatNothingCallsAProgram) {
  const Described jump{{0xe9, 0x0b, 0, 0, 0}, {{0, 5}}};
  const GoFile file({jump, go_121, go_121}, {.entry = text_address});
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  const Functions functions(image, elf::GoTable::find(image).value());
  EXPECT_EQ(text_of(functions.function(0)), "0: sp+8 undefined unchanged");
  EXPECT_EQ(text_of(functions.function(1)), "0: sp+8 undefined unchanged");
  EXPECT_EQ(text_of(functions.function(2)), rows_of(go_121));
}

TEST(GoRows, KnowWhatSignalHandlersCall) {
  Described function = go_121;
  function.name = "runtime.sigpanic";
  EXPECT_TRUE(rows_of(function).starts_with("signal frame 0: sp+8"));
  // mov $15,%rax; syscall
  EXPECT_EQ(rows_of({{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xcc}, {{0, 10}}}), "not called");
}

Described of_words(const std::vector<std::uint32_t>& words, std::vector<std::pair<int, unsigned>> depths) {
  Described function{{}, std::move(depths)};
  for (const std::uint32_t word : words)
    for (unsigned shift = 0; shift < 32; shift += 8) function.code.push_back(static_cast<std::uint8_t>(word >> shift));
  return function;
}

constexpr std::uint32_t nop = 0xd503201f, ret = 0xd65f03c0;
const FileForm aarch64{.machine = EM_AARCH64};

TEST(GoRowsOfAarch64, FollowSmallFrames) {
  // str x30,[sp,#-32]!; stur x29,[sp,#-8]; sub x29,sp,#8; ldur x29,[sp,#-8]; ldr x30,[sp],#32
  const std::vector<std::uint32_t> code{0xf81e0ffe, 0xf81f83fd, 0xd10023fd, 0xf85f83fd, 0xf84207fe, ret};
  EXPECT_EQ(
      rows_of(of_words(code, {{0, 4}, {32, 16}, {0, 4}}), aarch64),
      "0: sp+0 unchanged unchanged; 4: sp+32 CFA-32 unchanged; 8: sp+32 CFA-32 CFA-40; 20: sp+0 unchanged unchanged");
  for (const std::size_t step : {0U, 1U, 3U, 4U}) {
    auto other = code;
    other[step] = nop;
    EXPECT_TRUE(rows_of(of_words(other, {{0, 4}, {32, 16}, {0, 4}}), aarch64).find(':') == std::string::npos) << step;
  }
  // str x30,[sp],#-32; ldr x30,[sp,#32]!
  for (const auto& [step, instruction] : {std::pair{0U, 0xf81e07feU}, {4U, 0xf8420ffeU}}) {
    auto other = code;
    other[step] = instruction;
    EXPECT_EQ(rows_of(of_words(other, {{0, 4}, {32, 16}, {0, 4}}), aarch64), "registers") << step;
  }
}

TEST(GoRowsOfAarch64, FollowLargeFrames) {
  // sub x20,sp,#0x200; stp x29,x30,[x20,#-8]; mov sp,x20; sub x29,sp,#8; ldp x29,x30,[sp,#-8]; add sp,sp,#0x200
  const std::vector<std::uint32_t> code{0xd10803f4, 0xa93ffa9d, 0x9100029f, 0xd10023fd, 0xa97ffbfd, 0x910803ff, ret};
  EXPECT_EQ(rows_of(of_words(code, {{0, 12}, {512, 12}, {0, 4}}), aarch64),
            "0: sp+0 unchanged unchanged; 12: sp+512 CFA-512 CFA-520; 24: sp+0 unchanged unchanged");
  auto other = code;
  other[1] = nop;
  EXPECT_EQ(rows_of(of_words(other, {{0, 12}, {512, 12}, {0, 4}}), aarch64), "switches stacks");
}

TEST(GoRowsOfAarch64, NeedTheReturnAddress) {
  // bl, without a frame
  EXPECT_EQ(rows_of(of_words({0x94000002, ret}, {{0, 8}}), aarch64), "registers");
  // mov x3,x30; bl; b to the start
  EXPECT_EQ(rows_of(of_words({nop, ret, 0xaa1e03e3, 0x94000020, 0x17fffffc}, {{0, 20}}), aarch64),
            "0: sp+0 unchanged unchanged");
  EXPECT_EQ(rows_of(of_words({nop, ret, nop, 0x94000020, 0x17fffffc}, {{0, 20}}), aarch64), "registers");
  // sub sp,sp,#16; add sp,sp,#16: LR is not at SP
  EXPECT_EQ(rows_of(of_words({0xd10043ff, 0x910043ff, ret}, {{0, 4}, {16, 4}, {0, 4}}), aarch64), "registers");
}

/// All that is asked of the file's functions. What they say does not matter, if it can be said.
std::size_t rows_in(const std::vector<std::byte>& bytes) {
  const elf::Image image = elf::Image::of_bytes(bytes, "go");
  auto table = elf::GoTable::find(image);
  if (!table) return 0;
  const Functions functions(image, std::move(*table));
  std::size_t rows = 0;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const GoFunction function = functions.function(i);
    const elf::GoTable::Entry& entry = functions.table().entries()[i];
    EXPECT_LE(function.start + function.size, entry.end);
    EXPECT_LE(functions.table().name_of(entry).size(), bytes.size());
    for (const GoRow& row : function.rows) EXPECT_LT(row.pc_offset, function.size);
    rows += function.rows.size();
  }
  return rows;
}

TEST(GoRows, StayInFunctionsWhereTheTableLies) {
  const GoFile file({plain, of_c, plain});
  EXPECT_EQ(rows_in(file.bytes), 6U);
  const std::uint64_t end = file.module_offset + file.module_size();
  for (std::uint64_t at = file.table_offset; at < end; ++at) {
    for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
      std::vector<std::byte> bytes = file.bytes;
      bytes[at] = static_cast<std::byte>(value);
      rows_in(bytes);
      for (std::uint64_t next = at; next < std::min(at + 8, end); ++next) bytes[next] = static_cast<std::byte>(value);
      rows_in(bytes);
    }
  }
}

TEST(GoRows, StayInFunctionsWhereTheTableIsCutOff) {
  const GoFile file({plain, of_c, plain});
  for (std::uint64_t size = file.table_offset; size < file.bytes.size(); ++size) {
    std::vector<std::byte> bytes(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    bytes.resize(file.bytes.size());
    rows_in(bytes);
  }
}

TEST(GoRows, NeedATableAndNotAlmostOne) {
  const GoFile file({plain, plain});
  ASSERT_EQ(rows_in(file.bytes), 6U);
  std::mt19937_64 random(2);
  for (int round = 0; round < 1'000; ++round) {
    // The numbers of files, the old start of the code, and what is between the names and the values are of no use here.
    constexpr std::array<std::uint64_t, 15> used{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 56, 57, 64, 65, 71};
    std::vector<std::byte> bytes = file.bytes;
    const std::uint64_t at = used[random() % used.size()];
    bytes[file.table_offset + at] ^= static_cast<std::byte>(1U << random() % 8);
    if (bytes[file.table_offset] == std::byte{0xf0}) continue;  // another version
    // With other values, functions contradict their code.
    EXPECT_EQ(rows_in(bytes), 0U) << at;
  }
}

}  // namespace
}  // namespace sframe_gen::rows::go::test
