#include <algorithm>
#include <initializer_list>

#include "support/endian.hpp"
#include "verify/instruction.hpp"

/// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
namespace sframe_gen::verify {

namespace {

constexpr std::int64_t word_size = 8;

class Amd64Decoder {
 public:
  Amd64Decoder(std::span<const std::byte> code, std::uint64_t address) : code_(code), address_(address) {}

  std::optional<MachineInstruction> decode() {
    if (const auto nothing = padding()) return nothing;
    // bnd, which changes nothing of what follows.
    at_ = starts({0xf2}) ? 1 : 0;
    if (starts({0xff, 0x25})) return sized(6, Flow::Leave);           // jmp *N(%rip)
    if (starts({0xe9})) return sized(5, Flow::Jump, relative(4, 1));  // jmp
    if (at_ != 0) return std::nullopt;
    if (starts({0xeb})) return sized(2, Flow::Jump, relative(1, 1));    // jmp
    if (starts({0x74})) return sized(2, Flow::Branch, relative(1, 1));  // je
    if (starts({0xe8})) return sized(5, Flow::Call, relative(4, 1));    // call
    if (starts({0xff, 0xd0})) return sized(2, Flow::Call);              // call *%rax
    if (starts({0xc3})) return sized(1, Flow::Leave);                   // ret
    if (starts({0x68})) return moves_stack(5, -word_size);              // push $N
    if (starts({0xff, 0x35})) return begins_header(6);                  // push N(%rip)
    if (starts({0x41, 0x53})) return begins_header(2);                  // push %r11
    if (starts({0x50})) return moves_stack(1, -word_size);              // push %rax
    if (starts({0x58})) return moves_stack(1, word_size);               // pop %rax
    if (starts({0x48, 0x83, 0xec})) return adds(-1);                    // sub $N,%rsp
    if (starts({0x48, 0x83, 0xc4})) return adds(1);                     // add $N,%rsp
    if (starts({0x4c, 0x89, 0x1c, 0x24})) return stores_to_top();       // mov %r11,(%rsp)
    if (starts({0xf3, 0x0f, 0x1e, 0xfa})) return sized(4);              // endbr64
    if (starts({0x41, 0xbb})) return sized(6);                          // mov $N,%r11d
    if (starts({0x4c, 0x8b, 0x1d})) return sized(7);                    // mov N(%rip),%r11
    if (starts({0x48, 0x8b, 0x05})) return sized(7);                    // mov N(%rip),%rax
    if (starts({0x48, 0x8d, 0x05})) return sized(7);                    // lea N(%rip),%rax
    if (starts({0x48, 0xc7, 0xc0})) return sized(7);                    // mov $N,%rax
    if (starts({0x48, 0x85, 0xc0})) return sized(3);                    // test %rax,%rax
    if (starts({0x48, 0x31, 0xed})) return without_caller(3);           // xor %rbp,%rbp
    if (starts({0x48, 0x83, 0xe4, 0xf0})) return aligns_stack();        // and $-16,%rsp
    if (starts({0x48, 0x89, 0xe7})) return sized(3);                    // mov %rsp,%rdi
    if (starts({0x48, 0x8d, 0x35})) return sized(7);                    // lea N(%rip),%rsi
    if (starts({0xf3, 0x90})) return sized(2);                          // pause
    if (starts({0x0f, 0xae, 0xe8})) return sized(3);                    // lfence
    return std::nullopt;
  }

 private:
  bool starts(std::initializer_list<unsigned> bytes) const {
    if (code_.size() < at_ + bytes.size()) return false;
    return std::ranges::equal(
        bytes, code_.subspan(at_, bytes.size()), {}, [](unsigned byte) { return byte; },
        [](std::byte byte) { return std::to_integer<unsigned>(byte); });
  }

  /// Decodes nop of all lengths, and int3.
  std::optional<MachineInstruction> padding() const {
    const std::size_t size = idle_size_on_amd64(code_);
    if (size == 0 || size > code_.size()) return std::nullopt;
    const Flow flow = starts({0xcc}) ? Flow::Trap : Flow::Next;
    return MachineInstruction{.size = static_cast<std::uint8_t>(size), .flow = flow, .is_padding = true};
  }

  /// Makes an instruction of `size` bytes after the prefix.
  std::optional<MachineInstruction> sized(std::size_t size, Flow flow = Flow::Next, std::uint64_t target = 0) const {
    if (code_.size() < at_ + size) return std::nullopt;
    return MachineInstruction{.size = static_cast<std::uint8_t>(at_ + size), .flow = flow, .target = target};
  }

  std::optional<MachineInstruction> moves_stack(std::size_t size, std::int64_t change) const {
    auto instruction = sized(size);
    if (instruction) instruction->stack_change = change;
    return instruction;
  }

  std::optional<MachineInstruction> begins_header(std::size_t size) const {
    auto instruction = moves_stack(size, -word_size);
    if (instruction) instruction->begins_header = true;
    return instruction;
  }

  std::optional<MachineInstruction> adds(std::int64_t sign) const {
    if (code_.size() < 4) return std::nullopt;
    return moves_stack(4, sign * static_cast<std::int8_t>(code_[3]));
  }

  std::optional<MachineInstruction> without_caller(std::size_t size) const {
    auto instruction = sized(size);
    if (instruction) instruction->needs_no_caller = true;
    return instruction;
  }

  std::optional<MachineInstruction> aligns_stack() const {
    auto instruction = without_caller(4);
    if (instruction) instruction->aligns_stack = true;
    return instruction;
  }

  std::optional<MachineInstruction> stores_to_top() const {
    auto instruction = sized(4);
    if (instruction) instruction->overwrites_top = true;
    return instruction;
  }

  /// Returns the target of a displacement of `size` bytes that ends the instruction, after `opcode` bytes.
  std::uint64_t relative(std::size_t size, std::size_t opcode) const {
    if (code_.size() < at_ + opcode + size) return 0;
    const auto bytes = code_.subspan(at_ + opcode);
    const std::int64_t distance = size == 1 ? std::int64_t{static_cast<std::int8_t>(bytes[0])}
                                            : static_cast<std::int32_t>(load<std::uint32_t>(bytes, Endian::Little));
    return address_ + at_ + opcode + size + static_cast<std::uint64_t>(distance);
  }

  std::span<const std::byte> code_;
  std::uint64_t address_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<MachineInstruction> decode_amd64(std::span<const std::byte> code, std::uint64_t address) {
  return Amd64Decoder(code, address).decode();
}

}  // namespace sframe_gen::verify
