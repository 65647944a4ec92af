#include "unwind/signal_return.hpp"

#include <cstring>

#include "support/dwarf_registers.hpp"
#include "unwind/host.hpp"

namespace sframe_gen::unwind {
namespace {

constexpr std::uint64_t word = 8;

/// Consecutive words of memory, until one cannot be read.
class Words {
 public:
  Words(StackMemory& memory, std::uint64_t at) : memory_(memory), at_(at) {}

  std::uint64_t next() {
    std::uint64_t value = 0;
    all_read_ = all_read_ && memory_.word(at_, value);
    at_ += word;
    return value;
  }
  void skip(std::uint64_t bytes) { at_ += bytes; }
  bool all_read() const { return all_read_; }

 private:
  StackMemory& memory_;
  std::uint64_t at_;
  bool all_read_ = true;
};

#if defined(__aarch64__)
/// mov x8, #__NR_rt_sigreturn; svc #0.
bool is_signal_return(std::uint64_t pc) {
  constexpr std::uint32_t call[]{0xd2801168, 0xd4000001};
  StackMemory code({}, {});
  std::uint64_t found = 0;
  for (const std::uint64_t at : {pc, pc - sizeof call[0]}) {
    if (code.word(at, found) && std::memcmp(&found, call, sizeof call) == 0) return true;
  }
  return false;
}

bool read_saved(StackMemory& memory, std::uint64_t pc, std::uint64_t sp, Registers& saved) {
  if (!is_signal_return(pc)) return false;
  // siginfo; struct ucontext up to uc_mcontext, which is aligned to 16; fault_address. Then x0 to x30, sp, pc.
  Words words(memory, sp + 128 + 176 + word);
  for (std::uint32_t i = 0; i < aarch64_general_registers; ++i) saved.set(i, words.next());
  saved.set(host_abi.stack_pointer, words.next());
  saved.pc = words.next();
  return words.all_read();
}
#elif defined(__s390x__)
/// How far above SP the registers lie, if the call is at `pc`.
std::uint64_t find_saved(std::uint64_t pc) {
  constexpr std::uint8_t sigreturn[]{0x0a, 119}, rt_sigreturn[]{0x0a, 173};  // svc
  StackMemory code({}, {});
  std::uint64_t around = 0;  // an aligned word is in one page
  if (pc % 2 != 0 || !code.word(pc / word * word, around)) return 0;
  std::uint8_t bytes[word];
  std::memcpy(bytes, &around, word);
  // struct sigframe: the callee's 160 bytes, struct sigcontext. struct rt_sigframe: 160 bytes, an instruction, siginfo;
  // struct ucontext up to uc_mcontext.
  if (std::memcmp(bytes + pc % word, sigreturn, sizeof sigreturn) == 0) return 160 + 16;
  if (std::memcmp(bytes + pc % word, rt_sigreturn, sizeof rt_sigreturn) == 0) return 160 + 8 + 128 + 40;
  return 0;
}

bool read_saved(StackMemory& memory, std::uint64_t pc, std::uint64_t sp, Registers& saved) {
  const std::uint64_t distance = find_saved(pc);
  if (distance == 0) return false;
  // The mask and the address of the PSW, 16 registers, 16 access registers of 4 bytes, and the floating-point registers
  // behind their control word.
  Words words(memory, sp + distance + word);
  saved.pc = words.next();
  for (std::uint32_t i = 0; i < s390x_general_registers; ++i) saved.set(i, words.next());
  words.skip(16 * 4 + word);
  std::uint64_t floating_point[16];
  for (std::uint64_t& value : floating_point) value = words.next();
  for (std::uint32_t i = 0; i < 16; ++i) {
    saved.set(s390x_general_registers + i, floating_point[s390x_floating_point_order[i]]);
  }
  return words.all_read();
}
#else
/// Every C library of x86-64 describes its own.
bool read_saved(StackMemory&, std::uint64_t, std::uint64_t, Registers&) {
  return false;
}
#endif

}  // namespace

bool return_from_signal(StackMemory& memory, Registers& registers) {
  if (!registers.knows(host_abi.stack_pointer)) return false;
  Registers saved;
  if (!read_saved(memory, registers.pc, registers.values[host_abi.stack_pointer], saved) || saved.pc == 0) return false;
  saved.pc_is_exact = 1;
  registers = saved;
  return true;
}

}  // namespace sframe_gen::unwind
