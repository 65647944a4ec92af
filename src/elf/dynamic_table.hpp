#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// One entry of the table that PT_DYNAMIC covers (gABI, chapter 5, "Dynamic Section").
struct DynamicEntry {
  std::int64_t tag;
  std::uint64_t value;
  std::uint64_t value_offset;  ///< of d_un in the file
};

/// The entries in front of DT_NULL; none in a file without PT_DYNAMIC. Throws MalformedInput.
std::vector<DynamicEntry> read_dynamic(const Image& image);

std::optional<std::uint64_t> find_dynamic(const std::vector<DynamicEntry>& entries, std::int64_t tag);

/// DT_SONAME's text; empty where there is none or it lies outside the string table.
std::string soname_of(const Image& image, const std::vector<DynamicEntry>& entries);

}  // namespace sframe_gen::elf
