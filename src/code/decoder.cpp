#include "code/decoder.hpp"

#include "sframe_gen/error.hpp"

#ifdef SFRAME_GEN_ZYDIS

#include <Zydis/Zydis.h>
#include <dlfcn.h>

#include <algorithm>

namespace sframe_gen::code {

namespace {

static_assert(ZYDIS_VERSION_MAJOR(ZYDIS_VERSION) == 4, "Zydis 3 has another interface");

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

RegisterNumber number_of(ZydisRegister reg) {
  if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
    return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_RAX);
  if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
    return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_EAX);
  if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
    return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_AX);
  // al cl dl bl ah ch dh bh spl bpl sil dil r8b...
  if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL) return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_AL);
  if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_AH);
  if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
    return static_cast<RegisterNumber>(reg - ZYDIS_REGISTER_SPL + rsp);
  return reg == ZYDIS_REGISTER_RIP ? rip : no_register;
}

Operation operation_of(const ZydisDecodedInstruction& decoded) {
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return Operation::Move;
    case ZYDIS_MNEMONIC_MOVZX:
      return Operation::MoveZeroExtended;
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      return Operation::MoveSignExtended;
    case ZYDIS_MNEMONIC_CDQE:
      return Operation::ExtendAccumulator;
    case ZYDIS_MNEMONIC_LEA:
      return Operation::LoadAddress;
    case ZYDIS_MNEMONIC_ADD:
      return Operation::Add;
    case ZYDIS_MNEMONIC_SUB:
      return Operation::Subtract;
    case ZYDIS_MNEMONIC_AND:
      return Operation::And;
    case ZYDIS_MNEMONIC_XOR:
      return Operation::Xor;
    case ZYDIS_MNEMONIC_CMP:
      return Operation::Compare;
    case ZYDIS_MNEMONIC_PUSH:
      return Operation::Push;
    case ZYDIS_MNEMONIC_PUSHFQ:
      return Operation::PushFlags;
    case ZYDIS_MNEMONIC_POP:
      return Operation::Pop;
    case ZYDIS_MNEMONIC_POPFQ:
      return Operation::PopFlags;
    case ZYDIS_MNEMONIC_LEAVE:
      return Operation::Leave;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
      return Operation::Trap;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
      return Operation::Nothing;
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
      return Operation::OtherWorld;
    default:
      break;
  }
  const bool is_far = decoded.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return is_far ? Operation::OtherWorld : Operation::Call;
    case ZYDIS_CATEGORY_RET:
      return is_far ? Operation::OtherWorld : Operation::Return;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return is_far ? Operation::OtherWorld : Operation::Jump;
    case ZYDIS_CATEGORY_COND_BR:
      return Operation::ConditionalJump;
    default:
      return Operation::Other;
  }
}

Condition condition_of(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_JNBE:
      return Condition::Above;
    case ZYDIS_MNEMONIC_JNB:
      return Condition::AboveOrEqual;
    case ZYDIS_MNEMONIC_JB:
      return Condition::Below;
    case ZYDIS_MNEMONIC_JBE:
      return Condition::BelowOrEqual;
    case ZYDIS_MNEMONIC_JZ:
      return Condition::Equal;
    case ZYDIS_MNEMONIC_JNZ:
      return Condition::NotEqual;
    default:
      return Condition::Other;
  }
}

Operand operand_of(const ZydisDecodedOperand& decoded) {
  Operand operand;
  operand.bits = decoded.size;
  switch (decoded.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      operand.kind = Operand::Kind::Register;
      operand.reg = number_of(decoded.reg.value);
      break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
      operand.kind = Operand::Kind::Memory;
      operand.base = number_of(decoded.mem.base);
      operand.index = number_of(decoded.mem.index);
      operand.scale = decoded.mem.scale;
      operand.number = decoded.mem.disp.has_displacement ? decoded.mem.disp.value : 0;
      operand.other_segment = decoded.mem.segment == ZYDIS_REGISTER_FS || decoded.mem.segment == ZYDIS_REGISTER_GS;
      break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      operand.kind = Operand::Kind::Immediate;
      operand.number = decoded.imm.value.s;
      break;
    default:
      break;
  }
  return operand;
}

/// Makes addresses of displacements that count from the next instruction.
void count_from_zero(Operand& operand, std::uint64_t next) {
  if (operand.kind != Operand::Kind::Memory || operand.base != rip) return;
  operand.base = no_register;
  operand.number = static_cast<std::int64_t>(next + static_cast<std::uint64_t>(operand.number));
}

constexpr ZydisOperandActions any_write = ZYDIS_OPERAND_ACTION_MASK_WRITE;

void note_writes(const ZydisDecodedOperand& operand, Instruction& instruction) {
  if ((operand.actions & any_write) == 0) return;
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) instruction.stores = true;
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
  const RegisterNumber written = number_of(operand.reg.value);
  if (written < register_count) instruction.written |= static_cast<std::uint16_t>(1U << written);
}

}  // namespace

struct Decoder::Library {
  void* handle = nullptr;
  decltype(&ZydisDecoderInit) init_decoder = nullptr;
  decltype(&ZydisDecoderDecodeFull) decode_full = nullptr;
  decltype(&ZydisFormatterInit) init_formatter = nullptr;
  decltype(&ZydisFormatterFormatInstruction) format = nullptr;
  ZydisDecoder decoder{};
  ZydisFormatter formatter{};

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  std::string load() {
    handle = dlopen(SFRAME_GEN_ZYDIS, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return "requires Zydis, but " SFRAME_GEN_ZYDIS " cannot be loaded (install libzydis)";
    const bool complete =
        find(handle, "ZydisDecoderInit", init_decoder) && find(handle, "ZydisDecoderDecodeFull", decode_full) &&
        find(handle, "ZydisFormatterInit", init_formatter) && find(handle, "ZydisFormatterFormatInstruction", format) &&
        ZYAN_SUCCESS(init_decoder(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
        ZYAN_SUCCESS(init_formatter(&formatter, ZYDIS_FORMATTER_STYLE_INTEL));
    return complete ? "" : "requires Zydis, but " SFRAME_GEN_ZYDIS " lacks a function";
  }
};

Decoder::Decoder(const std::string& file) : library_(std::make_unique<Library>()) {
  if (const std::string why = library_->load(); !why.empty()) throw Refused(file, "--against=code " + why);
}

Decoder::~Decoder() = default;

std::string Decoder::why_missing() {
  return Library().load();
}

Instruction Decoder::decode(std::span<const std::byte> bytes, std::uint64_t address) const {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Instruction instruction;
  if (!ZYAN_SUCCESS(library_->decode_full(&library_->decoder, bytes.data(), bytes.size(), &decoded, operands.data())))
    return instruction;
  instruction.size = decoded.length;
  instruction.operation = operation_of(decoded);
  instruction.condition = condition_of(decoded.mnemonic);
  const std::uint64_t next = address + decoded.length;
  if (const ZydisAccessedFlags* const flags = decoded.cpu_flags)
    instruction.writes_flags = (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) != 0;
  for (unsigned i = 0; i < decoded.operand_count; ++i) note_writes(operands[i], instruction);
  for (unsigned i = 0; i < std::min<unsigned>(decoded.operand_count_visible, 2); ++i) {
    instruction.operands[i] = operand_of(operands[i]);
    count_from_zero(instruction.operands[i], next);
  }
  if (decoded.operand_count_visible > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
      operands[0].imm.is_relative) {
    instruction.is_direct = true;
    instruction.target = next + static_cast<std::uint64_t>(operands[0].imm.value.s);
  }
  return instruction;
}

std::string Decoder::text_of(std::span<const std::byte> bytes, std::uint64_t address) const {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(library_->decode_full(&library_->decoder, bytes.data(), bytes.size(), &decoded, operands.data())))
    return "";
  std::array<char, 128> text{};
  const bool done =
      ZYAN_SUCCESS(library_->format(&library_->formatter, &decoded, operands.data(), decoded.operand_count_visible,
                                    text.data(), text.size(), address, nullptr));
  return done ? text.data() : "";
}

}  // namespace sframe_gen::code

#else

namespace sframe_gen::code {

struct Decoder::Library {};

Decoder::Decoder(const std::string& file) {
  throw Refused(file, "--against=code " + why_missing());
}

Decoder::~Decoder() = default;

std::string Decoder::why_missing() {
  return "requires Zydis, but sframe-gen was built without it";
}

Instruction Decoder::decode(std::span<const std::byte>, std::uint64_t) const {
  return {};
}

std::string Decoder::text_of(std::span<const std::byte>, std::uint64_t) const {
  return "";
}

}  // namespace sframe_gen::code

#endif
