#include "trace/walk/kernel_registers.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "sframe/format.hpp"
#include "support/endian.hpp"

namespace sframe_gen::test {
namespace {

/// Word n of a kernel's structure holds 1000 + n.
std::vector<std::byte> numbered_words(std::size_t count, Endian endian) {
  std::vector<std::byte> bytes(count * 8);
  for (std::size_t i = 0; i < count; ++i) store(std::span(bytes).subspan(i * 8), std::uint64_t{1000 + i}, endian);
  return bytes;
}

struct Expected {
  sframe::Abi abi;
  std::size_t words;  ///< of the structure
  std::uint64_t pc, sp, fp;
};

// struct user_regs_struct, user_pt_regs and s390_regs.
class GeneralRegisters : public testing::TestWithParam<Expected> {};

TEST_P(GeneralRegisters, AreInTheKernelsOrder) {
  const auto& [abi, words, pc, sp, fp] = GetParam();
  const auto& traits = sframe::traits_of(abi);
  const auto bytes = numbered_words(words, traits.endian);
  const auto registers = trace::walk::general_registers(abi, bytes);
  ASSERT_TRUE(registers);
  EXPECT_EQ(registers->pc, 1000 + pc);
  EXPECT_EQ(registers->values[traits.stack_pointer], 1000 + sp);
  EXPECT_EQ(registers->values[traits.frame_pointer], 1000 + fp);
  EXPECT_TRUE(registers->knows(traits.stack_pointer) && registers->knows(traits.frame_pointer));
  EXPECT_FALSE(trace::walk::general_registers(abi, std::span(bytes).first(8)));
}

INSTANTIATE_TEST_SUITE_P(Machines, GeneralRegisters,
                         testing::Values(Expected{sframe::Abi::Amd64, 27, 16, 19, 4},
                                         Expected{sframe::Abi::Aarch64Little, 34, 32, 31, 29},
                                         Expected{sframe::Abi::Aarch64Big, 34, 32, 31, 29},
                                         Expected{sframe::Abi::S390x, 27, 1, 17, 13}));

TEST(FloatingPointRegisters, OfS390xHaveDwarfsOrder) {
  unwind::Registers registers;
  trace::walk::add_floating_point_registers(sframe::Abi::S390x, numbered_words(17, Endian::Big), registers);
  // f0, f2, f4, f6, f1: the control word is in front of f0.
  EXPECT_EQ(registers.values[16], 1001U);
  EXPECT_EQ(registers.values[17], 1003U);
  EXPECT_EQ(registers.values[20], 1002U);
  trace::walk::add_floating_point_registers(sframe::Abi::Amd64, numbered_words(17, Endian::Little), registers);
  EXPECT_FALSE(registers.knows(0));
}

/// Whether the PC, 1000, is an instruction's still.
bool is_exact_after(sframe::Abi abi, std::uint32_t number, std::uint32_t code, std::uint64_t address) {
  std::vector<std::byte> signal(128);
  const Endian endian = sframe::traits_of(abi).endian;
  store(std::span(signal), number, endian);
  store(std::span(signal).subspan(8), code, endian);
  store(std::span(signal).subspan(16), address, endian);
  unwind::Registers registers;
  registers.pc = 1000;
  trace::walk::add_signal(abi, signal, registers);
  return registers.pc_is_exact != 0;
}

TEST(Signals, OfSomeThePcIsBehindTheInstruction) {
  constexpr std::uint32_t trap_by_kernel = SI_KERNEL, step = TRAP_TRACE, illegal = ILL_ILLOPC, not_mapped = SEGV_MAPERR;
  EXPECT_FALSE(is_exact_after(sframe::Abi::Amd64, SIGTRAP, trap_by_kernel, 0));
  EXPECT_TRUE(is_exact_after(sframe::Abi::Amd64, SIGTRAP, step, 1000));
  EXPECT_FALSE(is_exact_after(sframe::Abi::S390x, SIGILL, illegal, 998));
  EXPECT_FALSE(is_exact_after(sframe::Abi::S390x, SIGILL, illegal, 994));
  EXPECT_TRUE(is_exact_after(sframe::Abi::S390x, SIGILL, illegal, 1000));
  EXPECT_TRUE(is_exact_after(sframe::Abi::S390x, SIGILL, illegal, 993));
  EXPECT_TRUE(is_exact_after(sframe::Abi::S390x, SIGSEGV, not_mapped, 998));
  EXPECT_TRUE(is_exact_after(sframe::Abi::Aarch64Little, SIGILL, illegal, 998));
}

TEST(RecordedRegisters, AreThoseOfTheMask) {
  // bp, sp, ip and r8 of enum perf_event_x86_regs.
  const std::uint64_t mask = 1U << 6U | 1U << 7U | 1U << 8U | 1U << 16U;
  const std::vector<std::uint64_t> values{60, 70, 80, 160};
  const auto registers = trace::walk::recorded_registers(sframe::Abi::Amd64, mask, values);
  ASSERT_TRUE(registers);
  EXPECT_EQ(registers->pc, 80U);
  EXPECT_EQ(registers->values[6], 60U);
  EXPECT_EQ(registers->values[7], 70U);
  EXPECT_EQ(registers->values[8], 160U);
  EXPECT_EQ(registers->known, 1U << 6U | 1U << 7U | 1U << 8U);
  EXPECT_FALSE(trace::walk::recorded_registers(sframe::Abi::Amd64, mask, std::span(values).first(3)));
  EXPECT_FALSE(trace::walk::recorded_registers(sframe::Abi::Amd64, 1, values)) << "there is no PC";
}

}  // namespace
}  // namespace sframe_gen::test
