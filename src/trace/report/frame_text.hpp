#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/report/named_frame.hpp"

/// Many pieces go into one string faster than into a stream.
namespace sframe_gen::trace {

inline constexpr std::size_t address_digits = 16;

/// In so many digits at least, with what fills up in front of them.
void append_hex(std::string& text, std::uint64_t value, std::size_t digits, char fill);
void append_decimal(std::string& text, std::uint64_t value, std::size_t digits = 1, char fill = '0');

/// "read+0x1a", or else what stands for it.
void append_function(std::string& text, const NamedFrame& named, const char* unknown);
/// "+0x1a"
void append_offset(std::string& text, std::uint64_t offset);

}  // namespace sframe_gen::trace
