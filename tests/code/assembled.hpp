#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "elf/image.hpp"
#include "support/folder.hpp"

namespace sframe_gen::code::test {

/// A library for x86-64, linked from one of the assembly files here.
class Assembled {
 public:
  /// `name`: of the file, without ".s". `flags`: for ld.
  explicit Assembled(const std::string& name, const std::string& flags = "-shared")
      : image_(elf::Image::open(linked(name, flags, folder_))) {}

  const elf::Image& image() const { return image_; }

 private:
  static std::filesystem::path linked(const std::string& name, const std::string& flags,
                                      const sframe_gen::test::Folder& folder) {
    const std::string source = std::string(SFRAME_GEN_SOURCE_DIR) + "/tests/code/" + name + ".s";
    const std::string object = (folder / "a.o").string(), library = (folder / "a.so").string();
    const std::string command =
        "as --64 -o " + object + " " + source + " && ld " + flags + " -o " + library + " " + object;
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
    return library;
  }

  sframe_gen::test::Folder folder_;
  elf::Image image_;
};

}  // namespace sframe_gen::code::test
