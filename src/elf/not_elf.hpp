#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sframe_gen::elf {

/// Why a file that does not start as ELF files do cannot be done: names what people take for an object or a module, a
/// compressed one or LLVM's intermediate code, and what to do about it.
std::string why_not_elf(std::span<const std::byte> bytes);

}  // namespace sframe_gen::elf
