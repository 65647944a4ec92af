#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trace/walk/stack.hpp"

namespace sframe_gen::trace {

/// UpToCut: of two walks one is cut, or both, and they agree until then.
enum class Match : std::uint8_t { Equal, UpToCut, Different };
/// "equal"
const char* text_of(Match match);

/// A stack beside the same one walked by DWARF.
struct Comparison {
  Match match = Match::Equal;
  std::size_t frame = 0;             ///< Different: the first that is
  std::optional<Frame> dwarf_frame;  ///< that frame by DWARF; none: it ends before, and says that this is all
  std::size_t dwarf_last = 0;        ///< its last frame
  std::string dwarf_cut;             ///< why it has no more; empty: it is whole
};

/// None: it was not asked for.
std::optional<Comparison> comparison_of(const Stack& stack);

}  // namespace sframe_gen::trace
