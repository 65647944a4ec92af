#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sframe_gen {

/// "0x1f": addresses, offsets and sizes in messages.
std::string hex(std::uint64_t value);

/// `text` with control characters as \\xNN: a file's name must not be able to write on the terminal.
std::string printable(std::string_view text);

/// " (one, another)", or nothing.
std::string in_parentheses(const std::vector<std::string>& clauses);

/// "1 row", "2 rows".
std::string count_of(std::uint64_t count, std::string_view noun);

}  // namespace sframe_gen
