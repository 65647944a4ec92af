#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {

/// The object file that `command` (a compiler and its options) makes of a source in C++, once: what many tests differ
/// in is how they link, and to compile takes a third of their time.
inline std::string compiled(const std::string& command, const std::string& source) {
  static const Folder folder;
  static std::map<std::string, std::string> objects;
  std::string& object = objects[command + source];
  if (!object.empty()) return object;
  object = (folder / (std::to_string(objects.size()) + ".o")).string();
  write_text(folder / "source.cpp", source);
  const Outcome done = run(command + " -c -o " + object + " " + (folder / "source.cpp").string());
  EXPECT_EQ(done.status, 0) << done.output;
  return object;
}

}  // namespace sframe_gen::elf::test
