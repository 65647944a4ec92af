#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sframe_gen::elf {

/// The kernel's part of this process: no file, but an ELF file in memory, section headers included. It is the same one
/// in all processes as long as the same kernel runs.
struct OwnVdso {
  std::uint64_t address = 0;         ///< 0: this process has none
  std::span<const std::byte> bytes;  ///< of the whole file; they stay as long as the process
};
OwnVdso own_vdso();

}  // namespace sframe_gen::elf
