#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace {

/// A part of a mapping, all of one segment.
struct MappedPiece {
  std::uint64_t begin, end;  ///< addresses in the program
  std::uint64_t bias;        ///< what they are above those of the file
};

/// Without gaps, ascending. The kernel maps whole pages, whose size is its own business: where a page of the file has
/// the end of one segment and the begin of another, both mappings hold both, and the offset in the file tells which it
/// is. Empty: the mapping holds no part of a PT_LOAD, or of too many, so that the file is not the one that was mapped.
std::vector<MappedPiece> pieces_of(const Mapping& mapping, const elf::Image& image);

}  // namespace sframe_gen::trace
