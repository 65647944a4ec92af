#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

/// Whom this program trusts, and what it cannot do any more.
namespace sframe_gen::trace {

/// Whether what this user has written may be believed, as perf does: root's, this program's, and under sudo(8) that of
/// the user who called it.
bool is_trusted(uid_t user);

/// Whether a file of this owner may name the code of a process: a trusted user's, or the process's own while it runs.
bool may_name_code(uid_t owner, int process);

constexpr const char* not_trusted = "belongs neither to root nor to you";

/// From now on, this thread and those that it starts cannot start a program, and change no file but in the directories
/// `writable` and those below. Files that are open stay as they are. Does nothing where the kernel has no Landlock
/// (Linux 5.13), or if a directory is not there.
///
/// Recordings and core files come from other machines and users, and name files for code of several libraries to read:
/// a mistake in that code must not give away more than the answer.
void give_up_rights(const std::vector<std::filesystem::path>& writable);

}  // namespace sframe_gen::trace
