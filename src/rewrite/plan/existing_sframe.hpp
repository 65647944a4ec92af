#pragma once

#include <cstdint>
#include <optional>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "rewrite/plan/file_space.hpp"

namespace sframe_gen::rewrite {

/// The section of this name that the input has already: an earlier run's, or GNU ld's.
struct ExistingSframe {
  std::optional<std::uint32_t> section;  ///< index
  bool has_segment = false;              ///< there is the program header that belongs to it
  Range bytes;                           ///< what may be overwritten
  std::optional<std::size_t> load;       ///< the read-only PT_LOAD that holds it, if it is usable in place
  std::uint64_t room = 0;                ///< bytes from its beginning to the next claim or the end of that PT_LOAD
  bool is_last = false;                  ///< nothing follows it in that PT_LOAD

  std::optional<std::uint32_t> undo_section;  ///< index of the record that an earlier run left
  Range undo_bytes;
};

/// Throws Refused when there is more than one of either, or when something points into the section.
ExistingSframe find_existing_sframe(const elf::Image& image, const elf::NewSection& wanted = elf::sframe_section);

}  // namespace sframe_gen::rewrite
