#include "trace/walk/signal_return.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "sframe/abi.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"
#include "trace/walk/thread_registers.hpp"

namespace sframe_gen::trace {

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
