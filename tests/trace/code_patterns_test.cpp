#include "trace/walk/code_patterns.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace sframe_gen::test {
namespace {

std::vector<std::byte> code_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(std::byte(value));
  return bytes;
}

std::uint64_t popped(std::initializer_list<unsigned> before, std::initializer_list<unsigned> after) {
  return trace::walk::popped_frame_pointer(code_of(before), code_of(after));
}

TEST(InterruptedCode, TellsSystemCallsOfEachMachine) {
  const auto ends = [](sframe::Abi abi, std::initializer_list<unsigned> code) {
    return trace::walk::ends_in_system_call(abi, code_of(code));
  };
  EXPECT_TRUE(ends(sframe::Abi::Amd64, {0x90, 0x0f, 0x05}));
  EXPECT_FALSE(ends(sframe::Abi::Amd64, {0x0f, 0x05, 0x90}));
  EXPECT_FALSE(ends(sframe::Abi::Amd64, {0x05}));
  EXPECT_TRUE(ends(sframe::Abi::Aarch64Little, {0x01, 0x00, 0x00, 0xd4})) << "svc #0";
  EXPECT_FALSE(ends(sframe::Abi::Aarch64Little, {0x02, 0x00, 0x00, 0xd4})) << "hvc #0";
  EXPECT_FALSE(ends(sframe::Abi::Aarch64Little, {0x00, 0x00, 0xd4}));
  EXPECT_TRUE(ends(sframe::Abi::S390x, {0x0a, 0xad}));
  EXPECT_FALSE(ends(sframe::Abi::S390x, {0x07, 0xfe})) << "br %r14";
}

TEST(InterruptedCode, TellsWhereTheFramePointerWasPoppedFrom) {
  EXPECT_EQ(popped({0x5d}, {0xc3}), 8U) << "pop %rbp; ret";
  EXPECT_EQ(popped({0xc9}, {0xc3}), 8U) << "leave; ret";
  EXPECT_EQ(popped({0xc9}, {0xe9, 0, 0, 0, 0}), 8U) << "leave; jmp";
  EXPECT_EQ(popped({0x5b, 0x5d}, {0x41, 0x5c, 0xc3}), 8U) << "pop %rbx; pop %rbp; pop %r12; ret";
  EXPECT_EQ(popped({0x5b, 0x5d, 0x41, 0x5c}, {0xc3}), 16U);
  EXPECT_EQ(popped({0x5d, 0x41, 0x5c, 0x41, 0x5d}, {0xf3, 0xc3}), 24U);
}

TEST(InterruptedCode, HasAFramePointerThatNothingPopped) {
  EXPECT_EQ(popped({}, {0xc3}), 0U);
  EXPECT_EQ(popped({0x5d}, {}), 0U);
  EXPECT_EQ(popped({0x41, 0x5d}, {0xc3}), 0U) << "pop %r13";
  EXPECT_EQ(popped({0x5b}, {0xc3}), 0U) << "pop %rbx";
  EXPECT_EQ(popped({0x5d, 0x90, 0x5b}, {0xc3}), 0U) << "something between";
  EXPECT_EQ(popped({0x31, 0xc9}, {0x89, 0xc8}), 0U) << "xor %ecx, %ecx is no leave";
  EXPECT_EQ(popped({0x5d}, {0x55}), 0U) << "no epilogue";
}

}  // namespace
}  // namespace sframe_gen::test
