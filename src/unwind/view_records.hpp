#pragma once

#include <cstddef>
#include <cstdint>

#include "sframe/format.hpp"

namespace sframe_gen::sframe {

/// A function's descriptor, and its attribute where the version splits the two.
struct ViewFunction {
  std::uint64_t start = 0;
  std::uint32_t size = 0;     ///< bytes
  std::uint32_t rows_at = 0;  ///< offset in the row sub-section, of the attribute if there is one
  std::uint32_t row_count = 0;
  FdeInfo info{0};
  FdeInfo2 info2{0};
  std::uint8_t repeat_size = 0;
  std::uint16_t padding = 0;             ///< version 2: after the repeat size
  const std::byte* first_row = nullptr;  ///< null: the attribute does not lie in the section

  bool is_flexible() const { return info2.fde_type() == static_cast<unsigned>(FdeType::Flexible); }
};

/// A row's bytes.
struct ViewFre {
  std::uint32_t start = 0;  ///< as stored
  FreInfo info{0};
  const std::byte* words = nullptr;
  const std::byte* next = nullptr;
};

/// One of a function's rows.
struct RowPlace {
  const std::byte* at = nullptr;
  std::uint32_t number = 0;
};

enum class RowState : std::uint8_t { Rules, Outermost, Damaged };

}  // namespace sframe_gen::sframe
