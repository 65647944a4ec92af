#include "trace/walk/frame_pointer_step.hpp"

#include <array>

#include "support/endian.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr std::uint64_t frame_word = 8;
constexpr std::uint64_t record_size = 2 * frame_word;  ///< the caller's frame pointer, the return address
/// Larger pages consist of such.
constexpr std::uint64_t smallest_page = 4096;
/// The largest frame, in bytes: it bounds the pages that are looked at.
constexpr std::uint64_t largest_frame = std::uint64_t{1} << 20U;

}  // namespace

const char* text_of(FramePointerFault fault, bool is_piece) {
  switch (fault) {
    case FramePointerFault::None:
      return "";
    case FramePointerFault::NotAbove:
      return "no row, and the frame pointer is below the stack pointer";
    case FramePointerFault::Outside:
      return is_piece ? "no row, and the frame pointer is outside the recorded piece of the stack"
                      : "no row, and the frame pointer is outside the stack";
    case FramePointerFault::NoCode:
      return "no row, and the frame pointer's return address is not in code";
    case FramePointerFault::NoCall:
      return "no row, and the frame pointer's return address follows no call";
    case FramePointerFault::NotRising:
      return "no row, and the caller's frame pointer is not above";
    case FramePointerFault::OtherReturn:
      return "no row, and the frame pointer may leave out a caller";
  }
  return "";
}

bool FramePointerStep::is_possible(const unwind::Registers& registers) const {
  return abi_.abi != sframe::Abi::S390x && registers.knows(abi_.frame_pointer);
}

unwind::Stop FramePointerStep::step(const AddressSpace& space, unwind::ReadMemory read, void* context,
                                    unwind::Registers& registers, FramePointerFault& fault) const {
  const auto fails = [&fault](FramePointerFault why) {
    fault = why;
    return unwind::Stop::NoRow;
  };
  const auto word = [&](std::uint64_t address, std::uint64_t& value) {
    std::array<std::byte, frame_word> bytes{};
    if (!read(context, address, bytes.data())) return false;
    value = load<std::uint64_t>(bytes, abi_.endian);
    return true;
  };
  const std::uint64_t sp = registers.values[abi_.stack_pointer], record = registers.values[abi_.frame_pointer];
  if (record < sp) return fails(FramePointerFault::NotAbove);
  if (record - sp > largest_frame || record + record_size < record) return fails(FramePointerFault::Outside);
  std::uint64_t pc = 0, fp = 0;
  if (!word(record, fp) || !word(record + frame_word, pc)) return fails(FramePointerFault::Outside);
  for (std::uint64_t page = sp / smallest_page * smallest_page + smallest_page; page < record; page += smallest_page) {
    std::uint64_t ignored = 0;
    if (!word(page, ignored)) return fails(FramePointerFault::Outside);
  }
  // Bit 55 tells the kernel's addresses, which no program returns to.
  if (abi_.abi != sframe::Abi::Amd64) pc &= ~signature_mask;
  if (pc == 0) return unwind::Stop::Outermost;
  if (!space.has_code_at(pc - 1)) return fails(FramePointerFault::NoCode);
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.known = 0;
  registers.set(abi_.frame_pointer, fp);
  registers.set(abi_.stack_pointer, record + record_size);
  if (abi_.abi != sframe::Abi::Amd64) registers.known = 1U << abi_.frame_pointer;
  return unwind::Stop::Stepped;
}

}  // namespace sframe_gen::trace::walk
