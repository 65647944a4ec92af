#pragma once

#include <cstdint>
#include <optional>

#include "elf/file_space.hpp"
#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The .sframe the input has already: an earlier run's, or GNU ld's.
struct ExistingSframe {
  std::optional<std::uint32_t> section;  ///< index
  bool has_segment = false;              ///< there is a PT_GNU_SFRAME
  FileRange bytes;                       ///< what may be overwritten
  std::optional<std::size_t> load;       ///< the read-only PT_LOAD that holds it, if it is usable in place
  std::uint64_t room = 0;                ///< bytes from its beginning to the next claim or the end of that PT_LOAD
  bool is_last = false;                  ///< nothing follows it in that PT_LOAD
};

/// Throws Refused when there is more than one .sframe.
ExistingSframe find_existing_sframe(const Image& image);

}  // namespace sframe_gen::elf
