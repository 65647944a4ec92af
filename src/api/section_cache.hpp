#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sframe_gen::api {

/// What became of the section of one file.
struct CachedSection {
  std::string file;
  std::uint64_t size = 0;  ///< bytes
  bool is_new = false;     ///< it was not in the cache before
};

struct CachedSections {
  std::vector<CachedSection> sections;  ///< the program's first
  std::vector<std::string> failures;    ///< of libraries: "FILE: WHAT"
};

/// Makes a cache directory that libsframe-backtrace uses, if there is none: its owner alone may write there. Throws
/// Refused if others may write to it, or SystemFailure.
void make_cache_directory(const std::filesystem::path& directory);

/// Keeps the sections of a program or library and of the files that a dynamic loader maps with it in `directory`, where
/// sframe-trace and libsframe-backtrace find them. Throws a Failure if the file itself has no section that can be kept.
CachedSections cache_sections(const std::filesystem::path& file, const std::filesystem::path& directory);

}  // namespace sframe_gen::api
