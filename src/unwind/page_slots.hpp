#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sframe_gen/view.hpp"

namespace sframe_gen::sframe {

/// Where the look-ups of one page begin: the last function that starts at or before the page's first byte, or the first
/// of all, and of its rows the one that holds there. In 8 bytes, two to a PageSlot: half the memory is twice as much of
/// the table in a near cache.
struct PageStart {
  static constexpr unsigned function_bits = 24, row_bits = 28, number_bits = 12;
  static constexpr std::uint64_t most_functions = std::uint64_t{1} << function_bits;
  static constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << row_bits;
  static constexpr std::uint32_t largest_number = (1U << number_bits) - 1;
  static constexpr std::size_t size = 8;  ///< bytes
  static constexpr std::size_t per_slot = sizeof(PageSlot) / size;

  std::uint32_t function = 0;
  std::uint32_t row = 0;         ///< offset in the row sub-section
  std::uint32_t row_number = 0;  ///< of the function's rows
};

/// Slots need the alignment of 32 bits only.
inline PageStart page_start(const PageSlot* slots, std::uint64_t page) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(slots) + page * PageStart::size, PageStart::size);
  return {static_cast<std::uint32_t>(word >> (PageStart::row_bits + PageStart::number_bits)),
          static_cast<std::uint32_t>(word >> PageStart::number_bits & (PageStart::most_row_bytes - 1)),
          static_cast<std::uint32_t>(word & PageStart::largest_number)};
}

inline void set_page_start(PageSlot* slots, std::uint64_t page, const PageStart& start) {
  const std::uint64_t word = std::uint64_t{start.function} << (PageStart::row_bits + PageStart::number_bits) |
                             std::uint64_t{start.row} << PageStart::number_bits | start.row_number;
  std::memcpy(reinterpret_cast<std::byte*>(slots) + page * PageStart::size, &word, PageStart::size);
}

}  // namespace sframe_gen::sframe
