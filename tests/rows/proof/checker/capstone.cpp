#include "rows/proof/checker/capstone.hpp"

#include <algorithm>
#include <stdexcept>

namespace sframe_gen::checker {

namespace {

/// Each general-purpose register, by its number (Intel SDM, volume 2, table 2-8), at each width.
constexpr std::array<std::array<x86_reg, 5>, 16> registers{{
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_SPL},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_BPL},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_SIL},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_DIL},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_R8B},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_R9B},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_R10B},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_R11B},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_R12B},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_R13B},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_R14B},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_R15B},
}};

/// Whether it only reads its first operand. Of all others, a first operand that is a register counts as written, as
/// Capstone's lists have gaps.
bool reads_only(const Capstone& instruction) {
  switch (instruction.id()) {
    case X86_INS_IMUL:
      return instruction.operands().size() == 1;
    case X86_INS_CMP:
    case X86_INS_TEST:
    case X86_INS_BT:
    case X86_INS_PUSH:
    case X86_INS_CALL:
    case X86_INS_JMP:
    case X86_INS_DIV:
    case X86_INS_IDIV:
    case X86_INS_MUL:
      return true;
    default:
      return false;
  }
}

/// Bytes of ModRM and what it asks for: SIB and a displacement (Intel SDM, volume 2, section 2.1.3).
std::size_t size_of_operand(std::span<const std::byte> from_modrm) {
  const auto byte = [&](std::size_t i) { return i < from_modrm.size() ? std::to_integer<unsigned>(from_modrm[i]) : 0; };
  const unsigned mode = byte(0) >> 6U, operand = byte(0) & 7U;
  if (mode == 3) return 1;
  const bool has_sib = operand == 4;
  const bool has_no_base = has_sib ? (byte(1) & 7U) == 5 : operand == 5;
  const std::size_t displacement = mode == 1 ? 1 : mode == 2 || has_no_base ? 4 : 0;
  return 1 + std::size_t{has_sib} + displacement;
}

/// Opcodes of map 1 with a constant of a byte: shifts, shuffles, comparisons.
bool has_constant(unsigned opcode) {
  return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
}

}  // namespace

unsigned size_of_vector_instruction(std::span<const std::byte> code) {
  if (code.empty()) return 0;
  // EVEX, and VEX of three and of two bytes.
  const auto first = std::to_integer<unsigned>(code[0]);
  const std::size_t prefix = first == 0x62 ? 4 : first == 0xc4 ? 3 : first == 0xc5 ? 2 : 0;
  if (prefix == 0 || code.size() < prefix + 2) return 0;
  const unsigned map = first == 0xc5 ? 1 : std::to_integer<unsigned>(code[1]) & (first == 0x62 ? 7U : 0x1fU);
  const auto opcode = std::to_integer<unsigned>(code[prefix]);
  if (map == 0 || map > 6 || (map == 1 && opcode == 0x77 && first != 0x62)) return 0;
  const std::size_t constant = map == 3 || (map == 1 && has_constant(opcode)) ? 1 : 0;
  const std::size_t size = prefix + 1 + size_of_operand(code.subspan(prefix + 1)) + constant;
  return size <= code.size() ? static_cast<unsigned>(size) : 0;
}

Capstone::Capstone() {
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::runtime_error("Capstone does not open");
  cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
  instruction_ = cs_malloc(handle_);
  numbers_.fill(no_register);
  for (std::size_t number = 0; number < registers.size(); ++number)
    for (const x86_reg reg : registers[number]) numbers_[reg] = static_cast<std::uint8_t>(number);
}

Capstone::~Capstone() {
  cs_free(instruction_, 1);
  cs_close(&handle_);
}

bool Capstone::read(std::span<const std::byte> code, std::uint64_t address) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
  std::size_t size = code.size();
  return cs_disasm_iter(handle_, &bytes, &size, &address, instruction_);
}

bool Capstone::is_conditional_jump() const {
  switch (id()) {
    case X86_INS_LOOP:
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
      return true;
    case X86_INS_JMP:
    case X86_INS_LJMP:
      return false;
    default:
      return is_of(CS_GRP_JUMP);
  }
}

bool Capstone::is_trap() const {
  return mnemonic().starts_with("ud") || mnemonic() == "int3" || mnemonic() == "hlt";
}

std::uint8_t Capstone::whole_register(const cs_x86_op& operand, unsigned size) const {
  return operand.type == X86_OP_REG && operand.size == size ? number_of(operand.reg) : no_register;
}

unsigned Capstone::written() const {
  // Capstone 4 takes `test $1, %al` for one that writes the register.
  if (id() == X86_INS_TEST) return 0;
  unsigned mask = 0;
  const auto add = [&](unsigned reg) {
    if (const auto number = number_of(reg); number != no_register) mask |= 1U << number;
  };
  cs_regs read, changed;
  std::uint8_t read_count = 0, changed_count = 0;
  if (cs_regs_access(handle_, instruction_, read, &read_count, changed, &changed_count) != CS_ERR_OK)
    throw std::runtime_error("Capstone does not know what registers are written");
  for (unsigned i = 0; i < changed_count; ++i) add(changed[i]);
  if (!operands().empty() && operands()[0].type == X86_OP_REG && !reads_only(*this)) add(operands()[0].reg);
  return mask;
}

std::int64_t Capstone::lowers_stack_pointer_by() const {
  const bool is_it = id() == X86_INS_SUB && operands().size() == 2 && operands()[1].type == X86_OP_IMM &&
                     whole_register(operands()[0], 8) == rsp;
  return is_it ? std::max<std::int64_t>(operands()[1].imm, 0) : 0;
}

std::uint8_t Capstone::compares_stack_pointer_with() const {
  if (id() != X86_INS_CMP || operands().size() != 2) return no_register;
  const std::uint8_t first = whole_register(operands()[0], 8), second = whole_register(operands()[1], 8);
  return first == rsp ? second : second == rsp ? first : no_register;
}

}  // namespace sframe_gen::checker
