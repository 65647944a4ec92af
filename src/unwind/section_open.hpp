#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/view.hpp"

namespace sframe_gen::sframe {

/// A header (2.2) after its checks, and where the parts of its section lie.
///
///     | header | auxiliary header | … | function index | … | rows | … |
struct HeaderView {
  detail::ViewFields fields;
  std::uint64_t end = 0;  ///< offset in the section of the first byte after the auxiliary header
  std::uint64_t index_offset = 0, index_end = 0;
  std::uint64_t rows_offset = 0, rows_end = 0;
};

ViewFault read_header(std::span<const std::byte> bytes, std::uint64_t address, Family family, HeaderView& header);

/// Every descriptor and row of a section whose header is sound: what the decoder refuses, this does. Only overlaps of
/// an unsorted index pass, which could not be told without memory.
ViewFault check_section(std::span<const std::byte> bytes, const HeaderView& header);

}  // namespace sframe_gen::sframe
