#pragma once

#include <cstddef>
#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"

namespace sframe_gen::sframe {

/// What a header comes to. Pointers into the section.
struct SectionFields {
  const std::byte* index = nullptr;
  const std::byte* rows = nullptr;
  std::uint64_t rows_size = 0;     ///< bytes
  std::uint64_t starts_from = 0;   ///< address that the first function's start counts from
  std::uint64_t start_stride = 0;  ///< bytes from one function's such address to the next one's
  const AbiTraits* abi = nullptr;
  std::uint32_t count = 0;      ///< functions
  std::uint32_t row_count = 0;  ///< as the header says
  Version version = Version::V3;
  Endian endian = Endian::Little;
  std::uint8_t flags = 0;

  std::uint8_t page_shift = 0;      ///< pages have 1 << this bytes
  const PageSlot* pages = nullptr;  ///< null: there is no table
  std::uint64_t pages_begin = 0;    ///< address
  std::uint64_t pages_size = 0;     ///< bytes of code
};

}  // namespace sframe_gen::sframe
