// What the judge reads from the function table of a Go program.

#include "verify/go_frames.hpp"

#include <gtest/gtest.h>

#include <string>

#include "elf/go_file.hpp"
#include "elf/image.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::verify {
namespace {

using elf::test::Described;
using elf::test::GoFile;
using elf::test::text_address;

/// What is said of each change in the first function: "0: frame of 0x0 bytes, frame pointer unchanged".
std::string answers_of(const std::vector<Described>& functions, const elf::test::FileForm& form = {}) {
  const GoFile file(functions, form);
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  const GoFrames frames(image, form.machine == EM_AARCH64 ? sframe::aarch64_traits : sframe::amd64_traits);
  std::string text;
  std::uint64_t pc = text_address;
  while (const auto answer = frames.answer_at(pc)) {
    text +=
        std::to_string(pc - text_address) + ": " + (answer->caller ? answer->caller->text : answer->why_none) + "\n";
    if (answer->is_called_by_handler) text += "called by a handler\n";
    pc = answer->end;
  }
  return text;
}

const std::string frame_0 = "frame of 0x0 bytes, frame pointer unchanged\n";
// push %rbp; mov %rsp,%rbp; pop %rbp; ret
const Described pushes{{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}, {{0, 1}, {8, 4}, {0, 1}}};

TEST(GoFrames, FollowTheTable) {
  EXPECT_EQ(answers_of({pushes}), "0: " + frame_0 + "1: frame of 0x8 bytes, frame pointer saved\n5: " + frame_0);
  // sub $0x10,%rsp; mov %rbp,8(%rsp); mov 8(%rsp),%rbp; add $0x10,%rsp; ret
  const Described stores{{0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x6c, 0x24, 0x08, 0x48, 0x8b, 0x6c, 0x24, 0x08, 0x48,
                          0x83, 0xc4, 0x10, 0xc3},
                         {{0, 4}, {16, 14}, {0, 1}}};
  EXPECT_EQ(answers_of({stores}, {.magic = 0xfffffff0}),
            "0: " + frame_0 + "4: frame of 0x10 bytes, frame pointer unchanged\n" +
                "9: frame of 0x10 bytes, frame pointer saved\n18: " + frame_0);
}

TEST(GoFrames, FollowTheTableOfAarch64) {
  // str x30,[sp,#-16]!; stur x29,[sp,#-8]; sub x29,sp,#8; ldr x30,[sp],#16; ret
  const Described function{{0xfe, 0x0f, 0x1f, 0xf8, 0xfd, 0x83, 0x1f, 0xf8, 0xfd, 0x23,
                            0x00, 0xd1, 0xfe, 0x07, 0x41, 0xf8, 0xc0, 0x03, 0x5f, 0xd6},
                           {{0, 4}, {16, 12}, {0, 4}}};
  EXPECT_EQ(answers_of({function}, {.machine = EM_AARCH64}),
            "0: " + frame_0 + "4: frame of 0x10 bytes, frame pointer unchanged\n" +
                "8: frame of 0x10 bytes, frame pointer saved\n16: " + frame_0);
}

TEST(GoFrames, KnowWhereNoRowIsRight) {
  Described function = pushes;
  function.flags = elf::test::switches_stacks;
  EXPECT_EQ(answers_of({function}), "0: the function goes on on another stack\n");
  function.flags |= elf::test::outermost;
  EXPECT_EQ(answers_of({function}), "0: RA undefined\n");
}

TEST(GoFrames, KnowWhatHandlersCall) {
  Described function = pushes;
  function.name = "runtime.asyncPreempt";
  EXPECT_NE(answers_of({function}).find("called by a handler"), std::string::npos);
}

// With cgo the kernel enters _start of C. A jump near it, to Go's main, is another function's.
TEST(GoFrames, KnowWhatTheKernelEnters) {
  const auto text_of_second = [](const Described& first) {
    const GoFile file({first, pushes}, {.entry = text_address});
    const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
    return GoFrames(image, sframe::amd64_traits).answer_at(file.starts[1])->caller->text + "\n";
  };
  const std::vector<std::uint8_t> jump{0xe9, 0x0b, 0, 0, 0};
  EXPECT_EQ(text_of_second({jump, {{0, 5}}}), "RA undefined\n");
  EXPECT_EQ(text_of_second({jump, {}}), frame_0) << "a function of C";
}

TEST(GoFrames, AreNoneWithoutTheModule) {
  GoFile file({pushes});
  file.bytes[file.module_offset + 16 * 8] ^= std::byte{1};
  const elf::Image image = elf::Image::of_bytes(file.bytes, "go");
  EXPECT_TRUE(GoFrames(image, sframe::amd64_traits).empty());
}

TEST(GoFrames, StayInBoundsOfTablesThatLie) {
  const GoFile file({pushes, pushes});
  const std::uint64_t end = file.module_offset + file.module_size();
  for (std::uint64_t at = file.table_offset; at < end; ++at) {
    for (const unsigned value : {0x00U, 0x7fU, 0xffU}) {
      std::vector<std::byte> bytes = file.bytes;
      bytes[at] = static_cast<std::byte>(value);
      const elf::Image image = elf::Image::of_bytes(bytes, "go");
      const GoFrames frames(image, sframe::amd64_traits);
      for (std::uint64_t pc = text_address; pc < text_address + 64; ++pc) {
        const auto answer = frames.answer_at(pc);
        EXPECT_TRUE(!answer || answer->end > pc);
      }
    }
  }
}

}  // namespace
}  // namespace sframe_gen::verify
