#include "trace/walk/kernel_registers.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "sframe/format.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"
#include "unwind/registers.hpp"
#include "unwind/signal_frame.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr std::size_t register_size = 8;

/// The words of a kernel's structure.
auto words_of(std::span<const std::byte> bytes, Endian endian) {
  return [bytes, endian](std::uint8_t word, std::uint64_t& value) {
    if (bytes.size() < (std::size_t{word} + 1) * register_size) return false;
    value = load<std::uint64_t>(bytes.subspan(std::size_t{word} * register_size), endian);
    return true;
  };
}

}  // namespace

sframe::Abi host_abi() {
  return unwind::host_traits.abi;
}

std::optional<unwind::Registers> general_registers(sframe::Abi abi, std::span<const std::byte> bytes) {
  unwind::Registers registers;
  const auto word_at = words_of(bytes, sframe::traits_of(abi).endian);
  if (!unwind::read_saved(unwind::saved_for_debugger(abi), word_at, registers)) return std::nullopt;
  return registers;
}

void add_floating_point_registers(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers) {
  // The control word and its padding come first, then f0 to f15.
  if (abi != sframe::Abi::S390x || bytes.size() < (1 + s390x_floating_point_order.size()) * register_size) return;
  std::uint32_t number = s390x_general_registers;
  for (const std::uint8_t name : s390x_floating_point_order) {
    registers.set(number++, load<std::uint64_t>(bytes.subspan((std::size_t{name} + 1) * register_size), Endian::Big));
  }
}

void add_signal(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers) {
  unwind::add_signal(abi, bytes, registers);
}

std::uint64_t registers_to_record(sframe::Abi abi) {
  const unwind::SavedRegisters saved = unwind::saved_by_perf(abi);
  std::uint64_t mask = std::uint64_t{1} << saved.pc;
  for (const unwind::SavedRegister& one : saved.registers) mask |= std::uint64_t{1} << one.word;
  return mask;
}

std::optional<unwind::Registers> recorded_registers(sframe::Abi abi, std::uint64_t mask,
                                                    std::span<const std::uint64_t> values) {
  if (static_cast<std::size_t>(std::popcount(mask)) > values.size()) return std::nullopt;
  const unwind::SavedRegisters saved = unwind::saved_by_perf(abi);
  // The number of registers recorded before each bit. Counting bits again for each register is slow on some hosts,
  // which have no instruction for it.
  std::array<std::uint8_t, 64> before{};
  std::uint8_t count = 0;
  for (std::size_t place = 0; place < before.size(); ++place) {
    before[place] = count;
    count += mask >> place & 1U;
  }
  const auto has = [&](std::uint8_t place) { return (mask >> place & 1U) != 0; };
  if (!has(saved.pc)) return std::nullopt;
  unwind::Registers registers;
  for (const unwind::SavedRegister& one : saved.registers) {
    if (has(one.word)) registers.set(one.number, values[before[one.word]]);
  }
  registers.pc = values[before[saved.pc]];
  return registers;
}

bool return_from_signal(AddressSpace& space, unwind::Registers& registers, unwind::ReadMemory read, void* context) {
  const Location* const location = space.location_of(registers.pc);
  const std::shared_ptr<CodeFile> file = location == nullptr ? nullptr : location->file();
  if (!file) return false;
  const elf::Image& image = file->image();
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr) return false;
  const sframe::AbiTraits& abi = sframe::traits_of(machine->abi);
  const auto read_code = [&](std::uint64_t address, std::span<std::byte> bytes) {
    const auto code = elf::loaded_bytes(image, address - location->bias, bytes.size());
    if (code.size() < bytes.size()) return false;
    std::ranges::copy(code.first(bytes.size()), bytes.begin());
    return true;
  };
  const auto word_at = [&](std::uint64_t address, std::uint64_t& value) {
    std::array<std::byte, register_size> bytes{};
    if (!read(context, address, bytes.data())) return false;
    value = load<std::uint64_t>(bytes, abi.endian);
    return true;
  };
  return unwind::return_from_signal(abi, read_code, word_at, registers);
}

}  // namespace sframe_gen::trace::walk
