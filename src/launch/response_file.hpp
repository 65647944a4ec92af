#pragma once

#include <string>
#include <vector>

namespace sframe_gen::launch {

/// The arguments with every @FILE replaced by what FILE says, as gcc and clang read it: words part at white space,
/// quotes of either kind hold them together, a backslash takes the next character as it is, and files may name files.
/// An @FILE that cannot be read stays what it is, as it does for the compilers.
std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments);

}  // namespace sframe_gen::launch
