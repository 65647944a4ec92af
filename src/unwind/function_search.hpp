#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"

/// From a PC to the function that holds it, by the index alone.
namespace sframe_gen::sframe {

inline constexpr std::uint32_t no_function = 0xffffffff;

template <typename Reader>
bool holds(const Reader& reader, std::uint32_t function, std::uint64_t pc) {
  const std::uint64_t start = reader.start_of(function);
  return pc >= start && pc - start < reader.size_of(function);
}

/// Of `count` functions from `first` on, in a sorted index, the last one that starts at or before `pc`; `first`, if
/// none does.
template <typename Reader>
std::uint32_t last_start(const Reader& reader, std::uint32_t first, std::uint32_t count, std::uint64_t pc) {
  while (count > 1) {
    const std::uint32_t half = count / 2;
    // No branch, which would be guessed wrong every other time.
    first += reader.start_of(first + half) <= pc ? half : 0;
    count -= half;
  }
  return first;
}

/// The function that holds `pc`, if `last` is the last one that starts at or before it.
template <typename Reader>
std::uint32_t holder_of(const Reader& reader, std::uint32_t last, std::uint64_t pc) {
  // A function of no bytes may share its start with a real one, or stand inside it; it holds no pc.
  while (last != 0 && reader.size_of(last) == 0) --last;
  return holds(reader, last, pc) ? last : no_function;
}

/// In an index that is not flagged as sorted.
template <typename Reader>
std::uint32_t first_holder(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  for (std::uint32_t function = 0; function < fields.count; ++function)
    if (holds(reader, function, pc)) return function;
  return no_function;
}

inline bool is_sorted(const detail::ViewFields& fields) {
  return (fields.flags & flag::sorted) != 0;
}

}  // namespace sframe_gen::sframe
