#pragma once

#include <filesystem>

namespace sframe_gen::files {

/// Refuses to replace a file that must not change: one that is immutable or can only be appended to (chattr), protected
/// by fs-verity, signed (security.ima), or open for writing in some process. `descriptor` is open for reading only.
/// Throws Refused.
void check_replaceable(int descriptor, const std::filesystem::path& file);

}  // namespace sframe_gen::files
