// What single instructions do.

#include "rows/go/effect.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace sframe_gen::rows::go::test {
namespace {

using namespace std::string_view_literals;

std::optional<Effect> effect_of(std::string_view code) {
  return effect_amd64(std::as_bytes(std::span(code)));
}

TEST(GoEffects, AreThoseOfWholeInstructions) {
  constexpr std::string_view code = "\x66\x44\x0f\xba\xa4\xcd\x00\x01\x00\x00\x07"sv;  // btw $7,0x100(%rbp,%rcx,8)
  for (std::size_t size = 0; size < code.size(); ++size) EXPECT_FALSE(effect_of(code.substr(0, size))) << size;
  EXPECT_EQ(effect_of(code).value().size, code.size());
}

TEST(GoEffects, SayThatTheFramePointerIsOnTheStack) {
  const Effect saved = effect_of("\x48\x89\x6c\x24\x10"sv).value();  // mov %rbp,0x10(%rsp)
  EXPECT_EQ(saved.frame_pointer, Change::Saved);
  EXPECT_EQ(saved.place, 0x10);
  // mov %rbp,%fs:0x10(%rsp); mov %rbp,0x10(%r12); mov %ebp,0x10(%rsp); mov %rbp,0x10(%rsp,%rax,1)
  for (const std::string_view elsewhere :
       {"\x64\x48\x89\x6c\x24\x10"sv, "\x49\x89\x6c\x24\x10"sv, "\x89\x6c\x24\x10"sv, "\x48\x89\x6c\x04\x10"sv})
    EXPECT_EQ(effect_of(elsewhere).value().frame_pointer, Change::None);
}

TEST(GoEffects, SayThatVexInstructionsWrite) {
  EXPECT_EQ(effect_of("\xc4\xe2\x50\xf3\xc8"sv).value().frame_pointer, Change::Other);  // blsr %eax,%ebp
  EXPECT_EQ(effect_of("\xc4\xe2\x53\xf6\xc0"sv).value().frame_pointer, Change::Other);  // mulx %eax,%ebp,%eax
  EXPECT_EQ(effect_of("\xc4\xe2\x79\xe2\x28"sv).value().frame_pointer, Change::Other);  // cmpbxadd %eax,%ebp,(%rax)
  EXPECT_EQ(effect_of("\xc4\xe3\x7b\xf0\xe0\x07"sv).value().moves_stack, true);         // rorx $7,%eax,%esp
  EXPECT_EQ(effect_of("\xc4\xe2\x7d\x58\x6c\x24\x10"sv).value().frame_pointer, Change::None);  // vpbroadcastd
}

/// Processors take them for different instructions, or there is none.
TEST(GoEffects, AreNotGuessed) {
  // data16 jmp; data16 call; REX twice; VEX after REX; xbegin; vmread
  for (const std::string_view code : {"\x66\xe9\x00\x00\x00\x00"sv, "\x66\xe8\x00\x00\x00\x00"sv, "\x48\x48\x89\xe5"sv,
                                      "\x48\xc5\xf8\x77"sv, "\xc7\xf8\x00\x00\x00\x00"sv, "\x0f\x78\xc5"sv})
    EXPECT_FALSE(effect_of(code)) << static_cast<unsigned>(static_cast<unsigned char>(code[1]));
}

}  // namespace
}  // namespace sframe_gen::rows::go::test
