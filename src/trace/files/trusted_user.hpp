#pragma once

#include <sys/types.h>

namespace sframe_gen::trace {

/// Whether what this user has written may be believed, as perf does: root's, this program's, and under sudo(8) that of
/// the user who called it.
bool is_trusted(uid_t user);

/// Whether a file of this owner may name the code of a process: a trusted user's, or the process's own while it runs.
bool may_name_code(uid_t owner, int process);

constexpr const char* not_trusted = "belongs neither to root nor to you";

}  // namespace sframe_gen::trace
