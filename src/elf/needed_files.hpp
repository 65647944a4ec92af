#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

struct NeededFiles {
  std::vector<std::filesystem::path> found;  ///< each file once
  std::vector<std::string> missing;          ///< names of libraries that are in no directory
};

/// Finds the files that a dynamic loader maps together with a program or library: its interpreter, the libraries that
/// it needs and those that these need. They are searched in the order of ld.so(8), with LD_LIBRARY_PATH and the cache
/// of ldconfig, but no program is run. Where a library has variants for processors (glibc-hwcaps), all are found. Those
/// that a program opens later are not known here. Throws MalformedInput.
NeededFiles needed_files(const Image& image);

}  // namespace sframe_gen::elf
