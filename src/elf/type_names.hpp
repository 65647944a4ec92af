#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// "EM_RISCV (243)"; the number alone where the program does not know the name.
std::string machine_name(std::uint16_t machine);

/// "section .text", or "section 12" where it has no name.
std::string describe(const Section& section);

/// What stands somewhere: a section, or a thing that has this name.
using Owner = std::variant<const char*, const Section*>;
std::string describe(const Owner& owner);

/// "PT_NOTE", or the type's number.
std::string segment_type_name(std::uint32_t type);

}  // namespace sframe_gen::elf
