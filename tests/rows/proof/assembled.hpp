#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "elf/image.hpp"
#include "support/folder.hpp"
#include "support/places.hpp"
#include "support/text.hpp"

namespace sframe_gen::rows::proof::test {

/// A library for x86-64, linked from one of the assembly files here.
class Assembled {
 public:
  /// `name`: of the file, without ".s". `flags`: for ld.
  explicit Assembled(const std::string& name, const std::string& flags = "-shared")
      : image_(elf::Image::open(linked(name, flags, folder_))) {}

  const elf::Image& image() const { return image_; }

  /// The address of each symbol of .symtab, by name: labels as well, which say nothing of functions.
  std::map<std::string, std::uint64_t> symbols() const {
    std::map<std::string, std::uint64_t> symbols;
    const auto strings = image_.bytes_of(*image_.find_section(".strtab"));
    auto records = image_.bytes_of(*image_.find_section(".symtab"));
    for (; !records.empty(); records = records.subspan(sizeof(Elf64_Sym))) {
      const Elf64_Sym symbol = elf::load_symbol(records, image_.endian());
      symbols[std::string(text_before_zero(strings.subspan(symbol.st_name)))] = symbol.st_value;
    }
    return symbols;
  }

 private:
  static std::filesystem::path linked(const std::string& name, const std::string& flags,
                                      const sframe_gen::test::Folder& folder) {
    const std::string sources = sframe_gen::test::source_folder() + "/tests/rows/proof/";
    const std::string object = (folder / "a.o").string(), library = (folder / "a.so").string();
    const std::string command = "as --64 -I " + sources + " -o " + object + " " + sources + name + ".s && ld " + flags +
                                " -o " + library + " " + object;
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
    return library;
  }

  sframe_gen::test::Folder folder_;
  elf::Image image_;
};

}  // namespace sframe_gen::rows::proof::test
