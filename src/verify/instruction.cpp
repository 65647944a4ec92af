#include "verify/instruction.hpp"

#include <algorithm>

#include "support/endian.hpp"

namespace sframe_gen::verify {

namespace {

using Code = std::span<const std::byte>;

/// Returns the bytes of [begin, end) in the file; empty if the file does not have all of them.
Code code_at(const elf::Image& image, std::uint64_t begin, std::uint64_t end) {
  const auto part = [&](std::uint64_t address, std::uint64_t file_offset, std::uint64_t file_size) -> Code {
    const bool inside = begin >= address && end - address <= file_size;
    return inside ? image.slice(file_offset + (begin - address), end - begin, "code") : Code{};
  };
  Code code;
  if (image.is_object()) {
    for (const elf::Section& section : image.sections()) {
      if ((section.header.sh_flags & SHF_EXECINSTR) == 0 || section.header.sh_type == SHT_NOBITS) continue;
      if (code.empty()) code = part(section.header.sh_addr, section.header.sh_offset, section.header.sh_size);
    }
    return code;
  }
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (code.empty()) code = part(segment.p_vaddr, segment.p_offset, segment.p_filesz);
  }
  return code;
}

unsigned byte_at(Code code, std::size_t index) {
  return index < code.size() ? std::to_integer<unsigned>(code[index]) : 0x100;
}

/// Returns the bytes of the operand that a ModRM byte begins: with it, SIB and displacement (Intel SDM, volume
/// 2A, 2.1.5).
std::size_t operand_size(unsigned modrm, unsigned sib) {
  const unsigned mode = modrm >> 6U, base = modrm & 7U;
  if (mode == 3) return 1;
  const std::size_t sib_size = base == 4 ? 1 : 0;
  const bool no_base = mode == 0 && (base == 5 || (base == 4 && (sib & 7U) == 5));
  const std::size_t displacement = mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0;
  return 1 + sib_size + displacement;
}

std::size_t idle_on_aarch64(Code code) {
  if (code.size() < 4) return 0;
  const auto word = load<std::uint32_t>(code, Endian::Little);
  const unsigned hint = word >> 5U & 0x7fU;  // CRm and op2
  const bool is_hint = (word & 0xfffff01fU) == 0xd503201fU;
  return is_hint && hint == 0 ? 4 : 0;
}

/// The opcode's first two bits say how long an instruction is.
std::size_t idle_on_s390x(Code code) {
  const unsigned first = byte_at(code, 0), second = byte_at(code, 1);
  if (second > 0xff || second >> 4U != 0) return 0;  // the mask of each of these branches
  constexpr std::size_t sizes[] = {2, 4, 4, 6};
  const bool by_register = first == 0x07, by_address = first == 0x47;
  const bool relative = (first == 0xa7 || first == 0xc0) && (second & 0xfU) == 4;
  return by_register || by_address || relative ? sizes[first >> 6U] : 0;
}

/// How to read the code of one machine.
struct MachineDecoder {
  std::optional<MachineInstruction> (*decode)(Code code, std::uint64_t address) = nullptr;
  std::size_t (*idle_size)(Code code) = nullptr;
  std::size_t alignment = 1;          ///< of instructions
  bool has_numbers_in_stubs = false;  ///< a symbol's number after the jump of an entry, which may begin with zeros
};

MachineDecoder decoder_for(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return {decode_amd64, idle_size_on_amd64, 1};
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return {decode_aarch64, idle_on_aarch64, 4};
    case sframe::Abi::S390x:
      return {decode_s390x, idle_on_s390x, 2, true};
  }
  return {};
}

/// Returns how many zeros `code` begins with, in whole instructions' places, which linkers leave between sections. No
/// more than a MachineInstruction can say.
std::uint8_t zeros_before(Code code, std::size_t alignment) {
  constexpr std::size_t most = 128;
  const auto looked_at = code.first(std::min(code.size(), most));
  const auto end = std::ranges::find_if(looked_at, [](std::byte byte) { return byte != std::byte{}; });
  const auto zeros = static_cast<std::size_t>(end - looked_at.begin());
  return static_cast<std::uint8_t>(zeros - zeros % alignment);
}

}  // namespace

std::size_t idle_size_on_amd64(Code code) {
  if (byte_at(code, 0) == 0xcc) return 1;
  std::size_t opcode = 0;
  while (byte_at(code, opcode) == 0x66 || byte_at(code, opcode) == 0x2e) ++opcode;
  if (byte_at(code, opcode) == 0x90) return opcode + 1;
  if (byte_at(code, opcode) != 0x0f || byte_at(code, opcode + 1) != 0x1f) return 0;
  const unsigned modrm = byte_at(code, opcode + 2);
  if (modrm > 0xff || (modrm >> 3U & 7U) != 0) return 0;
  return opcode + 2 + operand_size(modrm, byte_at(code, opcode + 3));
}

std::optional<MachineInstruction> decode_instruction(Code code, std::uint64_t address, sframe::Abi abi) {
  return decoder_for(abi).decode(code, address);
}

MachineInstruction bytes_between_instructions(Code code, std::uint64_t at, bool is_entry, sframe::Abi abi) {
  // Code that is not known ends at the latest here, from the section's start: no stub is shorter.
  constexpr std::uint64_t smallest_stub = 8;
  const MachineDecoder machine = decoder_for(abi);
  MachineInstruction bytes;
  bytes.flow = Flow::Trap;
  bytes.is_padding = is_entry;
  const bool may_be_number = machine.has_numbers_in_stubs && at != 0;
  if (is_entry && !may_be_number) bytes.size = zeros_before(code.subspan(at), machine.alignment);
  if (bytes.size != 0) return bytes;
  const std::uint64_t next = std::min<std::uint64_t>(at / smallest_stub * smallest_stub + smallest_stub, code.size());
  bytes.size = static_cast<std::uint8_t>(next - at);
  bytes.is_padding = is_entry && bytes.size < smallest_stub;
  return bytes;
}

std::optional<std::uint64_t> padding_end(const elf::Image& image, sframe::Abi abi, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t limit) {
  Code code = code_at(image, begin, limit);
  if (code.empty()) return std::nullopt;
  const MachineDecoder machine = decoder_for(abi);
  std::uint64_t at = begin;
  while (at < end) {
    if (code.empty()) return std::nullopt;
    std::size_t size = machine.idle_size(code);
    // A part of a zero instruction may be all that is left before something else.
    const Code place = code.first(std::min(code.size(), machine.alignment));
    if (size == 0 && std::ranges::count(place, std::byte{0}) == std::ssize(place)) size = place.size();
    if (size == 0 || size > code.size()) return std::nullopt;
    code = code.subspan(size);
    at += size;
  }
  return at;
}

bool is_padding(const elf::Image& image, sframe::Abi abi, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t longest_instruction = 15;
  return padding_end(image, abi, begin, end, end) || padding_end(image, abi, begin, end, end + longest_instruction);
}

}  // namespace sframe_gen::verify
