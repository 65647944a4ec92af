#include "cli/cfi_image.hpp"

#include <algorithm>

namespace sframe_gen::cli {

elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id) {
  elf::Image debug = elf::Image::open(path);
  if (debug.header().e_machine != image.header().e_machine || debug.endian() != image.endian()) {
    throw Refused(path.string(), "is for another machine than " + image.name());
  }
  if (ignore_build_id) return debug;
  const auto expected = image.build_id();
  const auto found = debug.build_id();
  if (expected.empty())
    throw Refused(image.name(),
                  "has no build-id to match " + path.string() + " by (--ignore-build-id takes it unmatched)");
  if (!std::equal(expected.begin(), expected.end(), found.begin(), found.end())) {
    throw Refused(path.string(),
                  "has another build-id than " + image.name() + " (--ignore-build-id takes it all the same)");
  }
  return debug;
}

}  // namespace sframe_gen::cli
