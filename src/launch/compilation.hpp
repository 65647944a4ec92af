#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sframe_gen::launch {

/// The objects that a compiler's command line, its name first, says it makes: one behind -o, or one for each source, in
/// the folder the command runs in. None if it stops earlier (-E, -S, -M, -fsyntax-only …), goes on to link, or writes
/// to a stream.
///
/// Command lines are those of gcc and clang, with or without a launcher such as ccache before the compiler. Look at the
/// files afterwards: a compiler that was asked for its version, say, writes none of them.
std::vector<std::filesystem::path> objects_made_by(const std::vector<std::string>& command);

}  // namespace sframe_gen::launch
