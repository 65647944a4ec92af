#pragma once

#include <cstdint>
#include <optional>

namespace sframe_gen::object {

/// How a relocation changes the bytes it is for: stores S + A, or S + A - P, or nothing that matters to readers of call
/// frame information (a personality routine's place in the global offset table).
enum class Form : std::uint8_t { Nothing, Absolute, PcRelative };

struct RelocationType {
  Form form = Form::Nothing;
  std::uint8_t size = 0;  ///< bytes of the field; 0 with Form::Nothing
};

/// What the relocations of `machine`, an e_machine, mean that assemblers put into .eh_frame, .debug_frame and .sframe.
/// Without a value: not one of those. AMD64 psABI, table 4.9; ELF for the Arm 64-bit Architecture, "Data relocations";
/// ELF Application Binary Interface s390x Supplement, "Relocation types".
std::optional<RelocationType> find_relocation_type(std::uint16_t machine, std::uint32_t number);

/// The relocation that stores S + A - P in `size` bytes, 4 or 8.
std::uint32_t pc_relative_relocation(std::uint16_t machine, std::uint8_t size);

}  // namespace sframe_gen::object
