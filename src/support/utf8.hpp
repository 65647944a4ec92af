#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sframe_gen {

/// `text`, or its first bytes, "…" and 8 digits of its hash if it has more than `most`: two long names stay two. A
/// letter of UTF-8 is not cut.
std::string shortened(std::string text, std::size_t most);

/// `text` with U+FFFD in the place of what is no UTF-8: the kernel cuts names inside a letter.
std::string valid_utf8(std::string_view text);

}  // namespace sframe_gen
