#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/walk/stack.hpp"

namespace sframe_gen::trace {

/// A frame in words, which are those of its location.
struct NamedFrame {
  std::uint64_t pc = 0;
  std::string_view function;  ///< empty: unknown
  std::uint64_t offset = 0;   ///< of the PC from the function's begin
  std::string_view file;      ///< path, "[vdso]"; empty: in no file
  std::uint64_t address = 0;  ///< in the file: virtual, or an offset where the file cannot be had
};

NamedFrame named(const Frame& frame);

/// "libc.so.6" of a path.
std::string_view short_name(std::string_view file);

/// Why a stack ends before its outermost frame.
struct Cut {
  std::string file;    ///< that the last frame is in; empty: in none
  std::string reason;  ///< "no row"
  std::string place;   ///< "0x1c2f", the address in the file of what the reason is about
};

/// "/usr/bin/bash: no row", without the place. Some reasons are messages, which name the file themselves.
std::string text_of(const Cut& cut);

/// None: the stack is whole.
std::optional<Cut> cut_of(const Stack& stack);

}  // namespace sframe_gen::trace
