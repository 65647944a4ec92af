#pragma once

#include <cstdint>

namespace sframe_gen::cfi {

/// A DWARF register number: any may come in, only those the program looks at have names.
enum class DwarfRegister : std::uint32_t {};

/// The columns of the unwind table that SFrame can speak of, and the column the CIE must return by.
struct TrackedRegisters {
  DwarfRegister stack_pointer;
  DwarfRegister frame_pointer;
  DwarfRegister return_address;
};

/// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36.
namespace amd64 {
inline constexpr DwarfRegister rbp{6}, rsp{7}, return_address{16};
inline constexpr TrackedRegisters tracked{rsp, rbp, return_address};
}  // namespace amd64

}  // namespace sframe_gen::cfi
