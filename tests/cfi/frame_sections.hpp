#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cfi/cfi_builder.hpp"
#include "sframe_gen/error.hpp"

/// Small sections of call frame information, by hand.
namespace sframe_gen::test {

/// CIE "zR" at 0 (version 1, pc-relative sdata4), FDE at 0x18 for 0x100..0x110, terminator at 0x2c.
inline std::vector<std::byte> good_section() {
  // clang-format off
  const Bytes bytes{0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
                    0x10, 0, 0, 0, 0x1c, 0, 0, 0, 0xe0, 0xf0, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0x41, 0x0e, 16,
                    0, 0, 0, 0};
  // clang-format on
  return {bytes.span().begin(), bytes.span().end()};
}

inline constexpr std::uint64_t section_address = 0x1000;
inline const InputOrigin origin{"file", ".eh_frame"};

/// The good one with another letter behind 'R', in place of a nop at the CIE's end.
inline std::vector<std::byte> with_letters(const std::string& letters) {
  auto bytes = good_section();
  for (const char letter : letters) {
    bytes.insert(bytes.begin() + 11, static_cast<std::byte>(letter));
    bytes.erase(bytes.begin() + 0x17);
  }
  return bytes;
}

/// .debug_frame: FDE at 0 for 0x100..0x110, its CIE behind it at 0x18.
inline std::vector<std::byte> entry_before_its_common() {
  // clang-format off
  const Bytes bytes{0x14, 0, 0, 0, 0x18, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0,
                    0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
  // clang-format on
  return {bytes.span().begin(), bytes.span().end()};
}

/// .debug_frame as linkers join it: `front`, terminators, and behind them a CIE and an FDE for 0x200..0x210.
inline std::vector<std::byte> joined_sections(std::vector<std::byte> front, std::size_t zero_lengths) {
  front.resize(front.size() + 4 * zero_lengths);
  const auto cie = static_cast<int>(front.size());
  // clang-format off
  const Bytes behind{0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0,
                     0x14, 0, 0, 0, cie, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0};
  // clang-format on
  front.insert(front.end(), behind.span().begin(), behind.span().end());
  return front;
}

/// Joined sections of which the first ends in its CIE's instructions, then in an FDE's.
inline std::vector<std::vector<std::byte>> joined_behind_zero_lengths() {
  const auto cie_last = entry_before_its_common();
  auto fde_last = cie_last;
  std::rotate(fde_last.begin(), fde_last.begin() + 0x18, fde_last.end());
  fde_last[0x14 + 4] = std::byte{0};
  std::vector<std::vector<std::byte>> sections;
  for (const std::size_t zero_lengths : {1U, 3U})
    for (const auto& front : {cie_last, fde_last}) sections.push_back(joined_sections(front, zero_lengths));
  return sections;
}

}  // namespace sframe_gen::test
