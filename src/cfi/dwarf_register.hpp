#pragma once

#include <cstdint>
#include <optional>

#include "sframe_gen/format.hpp"
#include "support/dwarf_registers.hpp"

namespace sframe_gen::cfi {

/// A DWARF register number: any may come in, only those the program looks at have names.
enum class DwarfRegister : std::uint32_t {};

/// The columns of the unwind table that SFrame can speak of, and the column the CIE must return by.
struct TrackedRegisters {
  DwarfRegister stack_pointer{};
  DwarfRegister frame_pointer{};
  DwarfRegister return_address{};
  std::optional<DwarfRegister> signing_state = std::nullopt;
  /// Where the CFA is more than what a call leaves in SP: the CFA of a function's entry is SP + this. 0: of no use.
  std::int64_t entry_cfa_offset = 0;

  constexpr explicit TrackedRegisters(const DwarfRegisters& registers)
      : stack_pointer{registers.stack_pointer},
        frame_pointer{registers.frame_pointer},
        return_address{registers.return_address} {
    if (registers.signing_state) signing_state = DwarfRegister{*registers.signing_state};
  }
};

/// Whether rows say anything of this column, or depend on it.
constexpr bool follows(const TrackedRegisters& tracked, DwarfRegister number) {
  return number == tracked.frame_pointer || number == tracked.return_address || number == tracked.stack_pointer ||
         number == tracked.signing_state;
}

namespace amd64 {
inline constexpr TrackedRegisters tracked(amd64_registers);
inline constexpr DwarfRegister rbp = tracked.frame_pointer, rsp = tracked.stack_pointer,
                               return_address = tracked.return_address;
}  // namespace amd64

namespace aarch64 {
inline constexpr TrackedRegisters tracked(aarch64_registers);
}  // namespace aarch64

namespace s390x {
inline constexpr TrackedRegisters tracked = [] {
  TrackedRegisters registers(s390x_registers);
  registers.entry_cfa_offset = 160;  // the register save area (s390x Supplement, section 1.2.2)
  return registers;
}();
}  // namespace s390x

const TrackedRegisters& tracked_registers(sframe::Abi abi);

}  // namespace sframe_gen::cfi
