// Prints what debugging information says of addresses, as llvm-symbolizer --inlines does without columns.
// usage: source-places [--split] [--alternate=FILE] FILE < ADDRESSES     (hexadecimal, one a line)

#include "trace/dwarf/source_places.hpp"

#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

void print(const std::vector<SourceFrame>& frames) {
  const auto text = [](std::string_view known) { return known.empty() ? std::string("??") : std::string(known); };
  for (const SourceFrame& frame : frames)
    std::cout << text(frame.function) << '\n' << text(frame.file) << ':' << frame.line << '\n';
  if (frames.empty()) std::cout << "??\n??:0\n";
  std::cout << '\n';
}

int run(int argc, char** argv) {
  SourcePlaces::OpenSplit open_split;
  std::optional<elf::Image> file, alternate;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view alternate_option = "--alternate=";
    if (argument == "--split") {
      open_split = [](const std::string& path) { return std::optional(elf::Image::open(path)); };
    } else if (argument.starts_with(alternate_option)) {
      alternate = elf::Image::open(argument.substr(alternate_option.size()));
    } else {
      file = elf::Image::open(argument);
    }
  }
  if (!file) return 1;
  SourcePlaces places(*file, alternate ? &*alternate : nullptr, open_split);
  for (std::string line; std::getline(std::cin, line);) print(places.at(std::stoull(line, nullptr, 16)));
  return 0;
}

}  // namespace

}  // namespace sframe_gen::trace::dwarf

int main(int argc, char** argv) {
  try {
    return sframe_gen::trace::dwarf::run(argc, argv);
  } catch (const sframe_gen::Failure& failure) {
    std::cerr << "source-places: error: " << failure.what() << '\n';
    return 1;
  }
}
