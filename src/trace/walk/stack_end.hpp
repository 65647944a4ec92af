#pragma once

#include <optional>
#include <string>

#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::walk {

/// Why a stack ends before its outermost frame.
struct StackEnd {
  std::string file;    ///< that the last frame is in; empty: in none
  std::string reason;  ///< "no row"
  std::string place;   ///< "0x1c2f", the address in the file of what the reason is about; empty: it has none
};

/// "/usr/bin/bash: no row", without the place. Some reasons are messages, which name the file themselves.
std::string text_of(const StackEnd& cut);

/// None: the stack is whole.
std::optional<StackEnd> cut_of(const Stack& stack);

}  // namespace sframe_gen::trace::walk
