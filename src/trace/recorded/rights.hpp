#pragma once

#include <filesystem>
#include <vector>

namespace sframe_gen::trace::recorded {

/// From now on, this thread and those that it starts cannot start a program, and change no file but in the directories
/// `writable` and those below. Files that are open stay as they are. Does nothing where the kernel has no Landlock
/// (Linux 5.13), or if a directory is not there.
///
/// Recordings and core files come from other machines and users, and name files for code of several libraries to read:
/// a mistake in that code must not give away more than the answer.
void give_up_rights(const std::vector<std::filesystem::path>& writable);

}  // namespace sframe_gen::trace::recorded
