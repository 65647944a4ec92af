#pragma once

#include <filesystem>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// A recording's bytes: of a file, or of a pipe to its end, which is standard input if `path` is "-". Throws Failure.
MappedFile open_recording(const std::filesystem::path& path);

}  // namespace sframe_gen::trace
