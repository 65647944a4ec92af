#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace sframe_gen {

/// The names in a directory, in any order, without "." and "..". `error` is set if it cannot be read to its end.
///
/// std::filesystem::directory_iterator of libstdc++ ends the program if there is no memory for a name.
std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& error);

}  // namespace sframe_gen
