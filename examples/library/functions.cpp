// Prints how many functions and rows the call frame information of each file has, and how many descriptors its .sframe.
#include <sframe_gen/error.hpp>

#include <cstdint>
#include <iostream>

#include "cfi/frame_source.hpp"
#include "elf/image.hpp"
#include "verify/file_section.hpp"

namespace {

void print(const char* file) {
  const auto image = sframe_gen::elf::Image::open(file);
  const sframe_gen::cfi::FrameSource source(image, image);
  std::uint64_t functions = 0, rows = 0;
  for (const auto& part : source.parts(1)) {
    source.for_each_function(part, [&](const sframe_gen::cfi::FunctionFrames& function) {
      ++functions;
      rows += function.rows.size();
    });
  }
  std::cout << file << ": " << functions << " functions, " << rows << " rows";
  if (image.find_section(".sframe") != nullptr)
    std::cout << ", " << sframe_gen::verify::read_file_sections(image).front().section.functions.size()
              << " in .sframe";
  std::cout << '\n';
}

}  // namespace

int main(int count, char** files) try {
  for (int i = 1; i < count; ++i) print(files[i]);
  return 0;
} catch (const sframe_gen::Failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
