#include "rows/proof/decoder.hpp"

#include "sframe_gen/error.hpp"

#ifdef SFRAME_GEN_ZYDIS

#include <Zydis/Zydis.h>
#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace sframe_gen::rows::proof {

namespace {

static_assert(ZYDIS_VERSION_MAJOR(ZYDIS_VERSION) == 4, "Zydis 3 has another interface");

/// Libraries whose structures are those of this header, the header's own first. Debian 13 has Zydis 4.1, whose decoder
/// is smaller than that of 4.0; all else that is used here is the same but for the numbers of mnemonics and categories.
constexpr const char* sonames[]{SFRAME_GEN_ZYDIS, "libZydis.so.4.1"};

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

template <typename Meaning>
struct Named {
  std::string_view name;
  Meaning meaning;
};

/// Mnemonics that the proof follows exactly.
constexpr Named<Operation> operations[]{
    {"mov", Operation::Move},
    {"movzx", Operation::MoveZeroExtended},
    {"movsx", Operation::MoveSignExtended},
    {"movsxd", Operation::MoveSignExtended},
    {"cdqe", Operation::ExtendAccumulator},
    {"lea", Operation::LoadAddress},
    {"add", Operation::Add},
    {"sub", Operation::Subtract},
    {"and", Operation::And},
    {"xor", Operation::Xor},
    {"cmp", Operation::Compare},
    {"push", Operation::Push},
    {"pushfq", Operation::PushFlags},
    {"pop", Operation::Pop},
    {"popfq", Operation::PopFlags},
    {"leave", Operation::Leave},
    {"syscall", Operation::SystemCall},
    {"int", Operation::OtherWorld},
    {"ud0", Operation::Trap},
    {"ud1", Operation::Trap},
    {"ud2", Operation::Trap},
    {"int3", Operation::Trap},
    {"hlt", Operation::Trap},
    {"nop", Operation::Nothing},
    {"endbr64", Operation::Nothing},
    {"enter", Operation::OtherWorld},
    {"iret", Operation::OtherWorld},
    {"iretd", Operation::OtherWorld},
    {"iretq", Operation::OtherWorld},
    {"xbegin", Operation::OtherWorld},
    {"xabort", Operation::OtherWorld},  // outside of a transaction it does nothing, and control goes on
    {"sysret", Operation::OtherWorld},
    {"sysexit", Operation::OtherWorld},
    {"uiret", Operation::OtherWorld},
};

/// Categories of the other mnemonics.
constexpr Named<Operation> transfers[]{
    {"CALL", Operation::Call},
    {"RET", Operation::Return},
    {"UNCOND_BR", Operation::Jump},
    {"COND_BR", Operation::ConditionalJump},
};

constexpr Named<Condition> conditional_jumps[]{
    {"jnbe", Condition::Above},       {"jnb", Condition::AboveOrEqual}, {"jb", Condition::Below},
    {"jbe", Condition::BelowOrEqual}, {"jz", Condition::Equal},         {"jnz", Condition::NotEqual},
};

/// The meanings of a library's numbers, by the names that it gives them: Zydis 4.0 and 4.1 number mnemonics and
/// categories in two ways.
template <typename Meaning, typename Number, std::size_t count>
std::vector<Meaning> by_number(const Named<Meaning> (&named)[count], const char* (*name_of)(Number)) {
  std::vector<Meaning> meanings;
  while (const char* const name = name_of(static_cast<Number>(meanings.size()))) {
    const auto* const found = std::ranges::find(named, std::string_view(name), &Named<Meaning>::name);
    meanings.push_back(found == std::end(named) ? Meaning::Other : found->meaning);
  }
  return meanings;
}

/// ah, ch, dh or bh. The proof knows the low bits of registers alone.
bool is_high_byte(ZydisRegister reg) {
  return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

Operand operand_of(const ZydisDecodedOperand& decoded) {
  Operand operand;
  operand.bits = decoded.size;
  switch (decoded.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      operand.kind = Operand::Kind::Register;
      if (!is_high_byte(decoded.reg.value)) operand.reg = number_of(decoded.reg.value);
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

/// Whether a prefix makes an instruction of the stack one that no compiler writes: a return or leave of 16 bits, an
/// address by esp or ebp.
bool has_other_width(Operation operation, const ZydisDecodedInstruction& decoded,
                     std::span<const ZydisDecodedOperand> operands) {
  const bool leaves = operation == Operation::Leave || operation == Operation::Return;
  if (leaves && (decoded.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0) return true;
  return decoded.address_width != 64 &&
         std::ranges::any_of(operands.first(decoded.operand_count_visible), [](const ZydisDecodedOperand& operand) {
           return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                  (operand.mem.base == ZYDIS_REGISTER_ESP || operand.mem.base == ZYDIS_REGISTER_EBP);
         });
}

void note_writes(const ZydisDecodedOperand& operand, Instruction& instruction) {
  // String instructions move the pointers that they imply. Zydis 4.0 lists that for lods, movs and stos, not for cmps
  // and scas.
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
    for (const RegisterNumber moved : {rsi, rdi})
      if (number_of(operand.mem.base) == moved) instruction.written |= static_cast<std::uint16_t>(1U << moved);
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
  decltype(&ZydisMnemonicGetString) name_of_mnemonic = nullptr;
  decltype(&ZydisCategoryGetString) name_of_category = nullptr;
  ZydisDecoder decoder{};
  ZydisFormatter formatter{};
  std::vector<Operation> operation_of_mnemonic, operation_of_category;
  std::vector<Condition> condition_of_mnemonic;

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  /// Returns why it cannot be loaded; empty if it is.
  std::string load() {
    for (const char* const soname : sonames)
      if (handle == nullptr) handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
      return "requires Zydis, but " SFRAME_GEN_ZYDIS
             " cannot be loaded (install libzydis4.0 on Debian 12, libzydis4.1 "
             "on Debian 13)";
    const bool complete =
        find(handle, "ZydisDecoderInit", init_decoder) && find(handle, "ZydisDecoderDecodeFull", decode_full) &&
        find(handle, "ZydisFormatterInit", init_formatter) && find(handle, "ZydisFormatterFormatInstruction", format) &&
        find(handle, "ZydisMnemonicGetString", name_of_mnemonic) &&
        find(handle, "ZydisCategoryGetString", name_of_category) &&
        ZYAN_SUCCESS(init_decoder(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
        ZYAN_SUCCESS(init_formatter(&formatter, ZYDIS_FORMATTER_STYLE_INTEL));
    if (!complete) return "requires Zydis, but " SFRAME_GEN_ZYDIS " lacks a function";
    operation_of_mnemonic = by_number(operations, name_of_mnemonic);
    condition_of_mnemonic = by_number(conditional_jumps, name_of_mnemonic);
    operation_of_category = by_number(transfers, name_of_category);
    return "";
  }

  Operation operation_of(const ZydisDecodedInstruction& decoded) const {
    const Operation exact = operation_of_mnemonic.at(decoded.mnemonic);
    if (exact != Operation::Other) return exact;
    const Operation transfer = operation_of_category.at(decoded.meta.category);
    const bool is_far = transfer != Operation::Other && decoded.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
    return is_far ? Operation::OtherWorld : transfer;
  }
};

Decoder::Decoder(const std::string& file, std::string_view option) : library_(std::make_unique<Library>()) {
  if (const std::string why = library_->load(); !why.empty()) throw Refused(file, std::string(option) + ' ' + why);
}

Decoder::~Decoder() = default;

std::string Decoder::why_missing() {
  return Library().load();
}

Instruction Decoder::decode(std::span<const std::byte> bytes, std::uint64_t address) const {
  ZydisDecodedInstruction decoded;
  // Zydis fills as many as it counts. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Instruction instruction;
  if (!ZYAN_SUCCESS(library_->decode_full(&library_->decoder, bytes.data(), bytes.size(), &decoded, operands.data())))
    return instruction;
  instruction.size = decoded.length;
  instruction.operation = library_->operation_of(decoded);
  if (has_other_width(instruction.operation, decoded, operands)) instruction.operation = Operation::OtherWorld;
  if (instruction.operation == Operation::SystemCall) instruction.written |= 1U << rax;  // its result
  instruction.condition = library_->condition_of_mnemonic[decoded.mnemonic];
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
  // Zydis fills as many as it counts. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(library_->decode_full(&library_->decoder, bytes.data(), bytes.size(), &decoded, operands.data())))
    return "";
  std::array<char, 128> text{};
  const bool done =
      ZYAN_SUCCESS(library_->format(&library_->formatter, &decoded, operands.data(), decoded.operand_count_visible,
                                    text.data(), text.size(), address, nullptr));
  return done ? text.data() : "";
}

}  // namespace sframe_gen::rows::proof

#else

namespace sframe_gen::rows::proof {

struct Decoder::Library {};

Decoder::Decoder(const std::string& file, std::string_view option) {
  throw Refused(file, std::string(option) + ' ' + why_missing());
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

}  // namespace sframe_gen::rows::proof

#endif
