#pragma once

#include <string>
#include <vector>

namespace sframe_gen::trace::live {

/// As env(1) and timeout(1) have it: the exit status, where a command cannot be traced or recorded.
inline constexpr int cannot_be_traced = 125;

/// Becomes the command. Comes back, with an exit status, only if it cannot be run, and has said why.
int become(const std::vector<std::string>& command);

}  // namespace sframe_gen::trace::live
