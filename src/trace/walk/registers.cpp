#include "trace/walk/registers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "sframe/format.hpp"
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

namespace {

/// What the kernel has pushed for a handler: so many bytes above SP so many words of registers, and siginfo.
struct SignalFrame {
  std::uint64_t saved_at;
  std::size_t words;
  std::uint64_t signal_at = 0;  ///< 0: there is none
};

// siginfo; struct ucontext up to uc_mcontext, which is aligned to 16; fault_address. Then x0 to x30, sp, pc.
constexpr SignalFrame aarch64_frame{128 + 176 + 8, 33};
// The PSW, 16 registers, 16 access registers of 4 bytes, and the floating-point registers with their control word.
constexpr std::size_t s390x_general_words = 2 + 16 + 8, s390x_words = s390x_general_words + 1 + 16;
// struct sigframe: the callee's 160 bytes, struct sigcontext. struct rt_sigframe: 160 bytes, an instruction, siginfo;
// struct ucontext up to uc_mcontext.
constexpr SignalFrame s390x_frame{160 + 16, s390x_words},
    s390x_frame_with_information{160 + 8 + 128 + 40, s390x_words, 160 + 8};

std::optional<SignalFrame> aarch64_frame_at(const elf::Image& image, std::uint64_t address) {
  constexpr std::uint32_t move_number = 0xd2801168, call = 0xd4000001;  // mov x8, #__NR_rt_sigreturn; svc #0
  const auto instruction_at = [&](std::uint64_t place) -> std::uint32_t {
    const auto bytes = elf::loaded_bytes(image, place, 4);
    return bytes.size() < 4 ? 0 : load<std::uint32_t>(bytes, Endian::Little);
  };
  const std::uint64_t begin = instruction_at(address) == call ? address - 4 : address;
  if (instruction_at(begin) != move_number || instruction_at(begin + 4) != call) return std::nullopt;
  return aarch64_frame;
}

std::optional<SignalFrame> s390x_frame_at(const elf::Image& image, std::uint64_t address) {
  constexpr std::uint16_t sigreturn = 0x0a77, rt_sigreturn = 0x0aad;  // svc 119, svc 173
  const auto bytes = elf::loaded_bytes(image, address, 2);
  const std::uint16_t instruction = bytes.size() < 2 ? std::uint16_t{0} : load<std::uint16_t>(bytes, Endian::Big);
  if (instruction == sigreturn) return s390x_frame;
  if (instruction == rt_sigreturn) return s390x_frame_with_information;
  return std::nullopt;
}

std::optional<SignalFrame> frame_at(sframe::Abi abi, const elf::Image& image, std::uint64_t address) {
  switch (abi) {
    case sframe::Abi::Amd64:  // every C library describes its own
      return std::nullopt;
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return aarch64_frame_at(image, address);
    case sframe::Abi::S390x:
      return s390x_frame_at(image, address);
  }
  return std::nullopt;
}

}  // namespace

bool return_from_signal(AddressSpace& space, unwind::Registers& registers, unwind::ReadMemory read, void* context) {
  const AddressSpace::Place place = space.place_of(registers.pc);
  if (place.file == nullptr) return false;
  const elf::Machine* const machine = elf::find_machine(place.file->image());
  if (machine == nullptr) return false;
  const sframe::Abi abi = machine->abi;
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  const auto frame = frame_at(abi, place.file->image(), place.address);
  if (!frame || !registers.knows(traits.stack_pointer)) return false;
  std::vector<std::byte> saved(frame->words * word);
  for (std::size_t i = 0; i < frame->words; ++i) {
    const std::uint64_t address = registers.values[traits.stack_pointer] + frame->saved_at + i * word;
    if (!read(context, address, saved.data() + i * word)) return false;
  }
  auto interrupted = general_registers(abi, saved);
  if (!interrupted) return false;
  std::array<std::byte, 3 * word> signal{};
  bool has_signal = frame->signal_at != 0;
  for (std::size_t i = 0; has_signal && i < signal.size(); i += word) {
    has_signal = read(context, registers.values[traits.stack_pointer] + frame->signal_at + i, signal.data() + i);
  }
  if (has_signal) add_signal(abi, signal, *interrupted);
  if (abi == sframe::Abi::S390x) {
    add_floating_point_registers(abi, std::span(saved).subspan(s390x_general_words * word), *interrupted);
  }
  registers = *interrupted;
  return true;
}

}  // namespace sframe_gen::trace
