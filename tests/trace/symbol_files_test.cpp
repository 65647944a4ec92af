#include "trace/walk/symbol_files.hpp"

#include <gtest/gtest.h>

namespace sframe_gen::trace {
namespace {

TEST(DebugFile, OpensOnlyRegularFilesThatOneNames) {
  const FileRoot root;
  const std::string program = "/proc/self/exe";
  const elf::Image image = elf::Image::open(std::filesystem::read_symlink(program));
  EXPECT_TRUE(walk::open_named_by(image, image.name(), root, 0).has_value());
  // To open a device may do something to it.
  EXPECT_FALSE(walk::open_named_by(image, "/dev/zero", root, 0).has_value());
  EXPECT_FALSE(walk::open_named_by(image, "/nowhere.dwo", root, 0).has_value());
}

}  // namespace
}  // namespace sframe_gen::trace
