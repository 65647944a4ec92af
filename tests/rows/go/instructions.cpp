// Decodes each instruction of a Go program for x86-64 or AArch64, as src/rows/go does and by Capstone, and reports
// where they differ.
//
//     go-instructions LEAST PROGRAM
//
// It is a fault if lengths differ, or if Capstone says that SP, the frame pointer or LR is written, at any width, and
// we say that it is not, or if Capstone sees a call, a return or a jump, and we see none. What only one of the two
// knows is not compared: src/rows/go takes what it does not know for something that may write anything, and Capstone 4
// lacks some instructions of vectors. Fewer than LEAST compared instructions are a fault as well.

#include <capstone/capstone.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "rows/go/effect.hpp"

namespace {

using namespace sframe_gen;
using namespace std::string_view_literals;
using rows::go::Change;
using rows::go::Effect;

/// What differs between machines. Registers are Capstone's, of each width.
struct JudgedMachine {
  cs_arch arch;
  cs_mode mode;
  std::optional<Effect> (*effect)(std::span<const std::byte>);
  std::vector<std::uint16_t> stack_pointer, frame_pointer, link;
};
const JudgedMachine amd64{CS_ARCH_X86,
                          CS_MODE_64,
                          rows::go::effect_amd64,
                          {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
                          {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
                          {}};
const JudgedMachine aarch64{CS_ARCH_ARM64,
                            CS_MODE_LITTLE_ENDIAN,
                            rows::go::effect_aarch64,
                            {ARM64_REG_SP, ARM64_REG_WSP},
                            {ARM64_REG_X29, ARM64_REG_W29},
                            {ARM64_REG_X30, ARM64_REG_W30}};

class Capstone {
 public:
  explicit Capstone(const JudgedMachine& machine) {
    if (cs_open(machine.arch, machine.mode, &handle_) != CS_ERR_OK) throw std::runtime_error("Capstone does not open");
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~Capstone() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Capstone(const Capstone&) = delete;
  Capstone& operator=(const Capstone&) = delete;

  /// Null: it is none.
  const cs_insn* read(std::span<const std::byte> code, std::uint64_t address) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = code.size();
    return cs_disasm_iter(handle_, &bytes, &size, &address, instruction_) ? instruction_ : nullptr;
  }

  bool is_of(cs_group_type group) const { return cs_insn_group(handle_, instruction_, group); }

  /// Those that the instruction that was read last writes.
  std::vector<std::uint16_t> written_registers() const {
    cs_regs read, written;
    std::uint8_t read_count = 0, written_count = 0;
    if (cs_regs_access(handle_, instruction_, read, &read_count, written, &written_count) != CS_ERR_OK)
      throw std::runtime_error("Capstone does not know what registers are written");
    return {std::begin(written), std::begin(written) + written_count};
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

/// What we say that is not so; empty: nothing.
std::string fault_of(const Effect& effect, const cs_insn& instruction, const JudgedMachine& machine,
                     const Capstone& capstone) {
  if (instruction.size != effect.size) return "its length is " + std::to_string(instruction.size);
  // Capstone 4 says that cmp writes its first operand, and svc LR. "mov sp, sp" adds 0.
  const std::string_view mnemonic = instruction.mnemonic;
  if (machine.arch == CS_ARCH_ARM64 && (mnemonic == "cmp" || mnemonic == "svc")) return {};
  if (mnemonic == "mov" && instruction.op_str == "sp, sp"sv) return {};
  const auto written = capstone.written_registers();
  const auto writes = [&](const std::vector<std::uint16_t>& names) {
    return std::ranges::find_first_of(written, names) != written.end();
  };
  const auto keeps = [](Change change) { return change == Change::None || change == Change::Saved; };
  // A call on x86-64 pushes what its return pops.
  const bool moves_stack = effect.moves_stack || effect.stack_rise != 0 || effect.is_call || effect.is_return;
  if (writes(machine.stack_pointer) && !moves_stack) return "it writes SP";
  if (writes(machine.frame_pointer) && keeps(effect.frame_pointer)) return "it writes the frame pointer";
  if (writes(machine.link) && keeps(effect.link)) return "it writes LR";
  if (capstone.is_of(CS_GRP_CALL) && !effect.is_call) return "it is a call";
  if (capstone.is_of(CS_GRP_RET) && !effect.is_return) return "it is a return";
  const bool jumps = effect.jump != 0 || !effect.goes_on;
  if (capstone.is_of(CS_GRP_JUMP) && !jumps && !effect.is_call) return "it is a jump";
  return {};
}

class Comparison {
 public:
  explicit Comparison(const elf::Image& image)
      : image_(image),
        machine_(elf::machine_of(image).abi == sframe::Abi::Amd64 ? amd64 : aarch64),
        capstone_(machine_) {}

  void compare_function(const elf::GoTable::Entry& entry) {
    const auto code = elf::loaded_bytes(image_, entry.start, entry.end - entry.start);
    for (std::size_t at = 0; at < code.size();) {
      const auto rest = code.subspan(at);
      const auto effect = machine_.effect(rest);
      const cs_insn* const instruction = capstone_.read(rest, entry.start + at);
      if (effect && instruction != nullptr) {
        ++compared_;
        report(fault_of(*effect, *instruction, machine_, capstone_), *instruction);
      } else {
        ++unknown_;
      }
      at += effect ? std::size_t{effect->size} : instruction != nullptr ? instruction->size : std::size_t{1};
    }
  }

  std::size_t compared() const { return compared_; }
  std::size_t unknown() const { return unknown_; }
  std::size_t faults() const { return faults_; }

 private:
  void report(const std::string& fault, const cs_insn& instruction) {
    constexpr std::size_t most_shown = 20;
    if (fault.empty() || ++faults_ > most_shown) return;
    std::cerr << "0x" << std::hex << instruction.address << std::dec << ": " << instruction.mnemonic << ' '
              << instruction.op_str << ": " << fault << '\n';
  }

  const elf::Image& image_;
  const JudgedMachine& machine_;
  Capstone capstone_;
  std::size_t compared_ = 0, unknown_ = 0, faults_ = 0;
};

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    const elf::Image image = elf::Image::open(arguments[2]);
    const auto table = elf::GoTable::find(image);
    if (!table) throw Refused(image.name(), "has no table of Go");
    Comparison comparison(image);
    for (const elf::GoTable::Entry& entry : table->entries()) comparison.compare_function(entry);
    std::cout << image.name() << ": " << comparison.compared() << " instructions, " << comparison.unknown()
              << " that one does not know, " << comparison.faults() << " faults\n";
    return comparison.faults() == 0 && comparison.compared() >= std::strtoull(arguments[1], nullptr, 10) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
