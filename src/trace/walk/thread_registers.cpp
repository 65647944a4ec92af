#include "trace/walk/thread_registers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>

#include "sframe/abi.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::size_t word = 8;

/// Word `place` of a kernel's structure holds the register with this DWARF number.
struct Slot {
  std::uint8_t place, number;
};

/// Where a kernel's structure, or perf's list, has what is wanted.
struct Slots {
  std::span<const Slot> registers;
  std::uint8_t pc;
};

// struct user_regs_struct of <sys/user.h>.
namespace amd64 = amd64_register;
constexpr std::array<Slot, 16> amd64_general{{{0, amd64::r15},
                                              {1, amd64::r14},
                                              {2, amd64::r13},
                                              {3, amd64::r12},
                                              {4, amd64::rbp},
                                              {5, amd64::rbx},
                                              {6, amd64::r11},
                                              {7, amd64::r10},
                                              {8, amd64::r9},
                                              {9, amd64::r8},
                                              {10, amd64::rax},
                                              {11, amd64::rcx},
                                              {12, amd64::rdx},
                                              {13, amd64::rsi},
                                              {14, amd64::rdi},
                                              {19, amd64::rsp}}};
// enum perf_event_x86_regs.
constexpr std::array<Slot, 16> amd64_recorded{{{0, amd64::rax},
                                               {1, amd64::rbx},
                                               {2, amd64::rcx},
                                               {3, amd64::rdx},
                                               {4, amd64::rsi},
                                               {5, amd64::rdi},
                                               {6, amd64::rbp},
                                               {7, amd64::rsp},
                                               {16, amd64::r8},
                                               {17, amd64::r9},
                                               {18, amd64::r10},
                                               {19, amd64::r11},
                                               {20, amd64::r12},
                                               {21, amd64::r13},
                                               {22, amd64::r14},
                                               {23, amd64::r15}}};

/// `count` registers in the order of their numbers, from word `first`.
template <std::uint8_t count>
constexpr std::array<Slot, count> in_order(std::uint8_t first) {
  std::array<Slot, count> slots{};
  for (std::uint8_t i = 0; i < count; ++i) slots[i] = {static_cast<std::uint8_t>(first + i), i};
  return slots;
}

// Both structures of aarch64 have x0 to x30, sp, pc; sp has the number behind x30's.
constexpr auto aarch64_both = in_order<32>(0);
// struct s390_regs: the PSW's two words, the second the PC, and then r0 to r15.
constexpr auto s390x_general = in_order<16>(2);

/// enum perf_event_s390_regs: r0 to r15, f0 to f15 in the order of their names, mask, pc.
constexpr std::array<Slot, 32> s390x_recorded_registers() {
  std::array<Slot, 32> slots{};
  for (std::uint8_t i = 0; i < 16; ++i) {
    slots[i] = {i, i};
    slots[16U + i] = {static_cast<std::uint8_t>(16 + s390x_floating_point_order[i]), static_cast<std::uint8_t>(16 + i)};
  }
  return slots;
}
constexpr auto s390x_recorded = s390x_recorded_registers();

Slots general_slots(sframe::Abi abi) {
  if (abi == sframe::Abi::Amd64) return {amd64_general, 16};
  if (abi == sframe::Abi::S390x) return {s390x_general, 1};
  return {aarch64_both, 32};
}

Slots recorded_slots(sframe::Abi abi) {
  if (abi == sframe::Abi::Amd64) return {amd64_recorded, 8};
  if (abi == sframe::Abi::S390x) return {s390x_recorded, 33};
  return {aarch64_both, 32};
}

}  // namespace

sframe::Abi host_abi() {
#if defined __x86_64__
  return sframe::Abi::Amd64;
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return sframe::Abi::Aarch64Little;
#elif defined __aarch64__
  return sframe::Abi::Aarch64Big;
#elif defined __s390x__
  return sframe::Abi::S390x;
#else
#error "no SFrame ABI"
#endif
}

std::optional<unwind::Registers> general_registers(sframe::Abi abi, std::span<const std::byte> bytes) {
  const Slots slots = general_slots(abi);
  unwind::Registers registers;
  const auto value_at = [&](std::uint8_t place) {
    return load<std::uint64_t>(bytes.subspan(std::size_t{place} * word, word), sframe::traits_of(abi).endian);
  };
  std::uint8_t last = slots.pc;
  for (const Slot& slot : slots.registers) last = std::max(last, slot.place);
  if (bytes.size() < (std::size_t{last} + 1) * word) return std::nullopt;
  for (const Slot& slot : slots.registers) registers.set(slot.number, value_at(slot.place));
  registers.pc = value_at(slots.pc);
  return registers;
}

void add_floating_point_registers(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers) {
  // The control word and its padding come first, then f0 to f15.
  if (abi != sframe::Abi::S390x || bytes.size() < (1 + s390x_floating_point_order.size()) * word) return;
  std::uint32_t number = s390x_general_registers;
  for (const std::uint8_t name : s390x_floating_point_order) {
    registers.set(number++, load<std::uint64_t>(bytes.subspan((std::size_t{name} + 1) * word, word), Endian::Big));
  }
}

void add_signal(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers) {
  constexpr std::size_t code_at = 8, address_at = 16, size = 24, longest_instruction = 6;
  if (bytes.size() < size) return;
  const Endian endian = sframe::traits_of(abi).endian;
  const auto number = load<std::uint32_t>(bytes, endian), code = load<std::uint32_t>(bytes.subspan(code_at), endian);
  const auto address = load<std::uint64_t>(bytes.subspan(address_at), endian);
  // int3: a trap without an address.
  const bool is_breakpoint = abi == sframe::Abi::Amd64 && number == SIGTRAP && code == SI_KERNEL;
  // The address is that of the instruction, which is complete or was suppressed (z/Architecture Principles of
  // Operation, chapter 6); of what was nullified, as by SIGSEGV, the PC is the instruction's.
  const bool is_done = abi == sframe::Abi::S390x && (number == SIGILL || number == SIGFPE || number == SIGTRAP) &&
                       registers.pc - address - 1 < longest_instruction;
  if (is_breakpoint || is_done) registers.pc_is_exact = 0;
}

std::optional<unwind::Registers> recorded_registers(sframe::Abi abi, std::uint64_t mask,
                                                    std::span<const std::uint64_t> values) {
  if (static_cast<std::size_t>(std::popcount(mask)) > values.size()) return std::nullopt;
  const Slots slots = recorded_slots(abi);
  // Of each place, how many are recorded before it: to count them for each register is no single instruction
  // everywhere.
  std::array<std::uint8_t, 64> before{};
  std::uint8_t count = 0;
  for (std::size_t place = 0; place < before.size(); ++place) {
    before[place] = count;
    count += mask >> place & 1U;
  }
  const auto has = [&](std::uint8_t place) { return (mask >> place & 1U) != 0; };
  const auto value_at = [&](std::uint8_t place) { return values[before[place]]; };
  if (!has(slots.pc)) return std::nullopt;
  unwind::Registers registers;
  for (const Slot& slot : slots.registers) {
    if (has(slot.place)) registers.set(slot.number, value_at(slot.place));
  }
  registers.pc = value_at(slots.pc);
  return registers;
}

}  // namespace sframe_gen::trace
