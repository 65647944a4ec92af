#include "elf/write/fill_section.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "elf/check/layout_check.hpp"
#include "elf/edit/file_image.hpp"
#include "files/atomic_file.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf {

namespace {

void check_filled(const Image& input, const Section& section, std::span<const std::byte> bytes, const Image& output) {
  const auto require = [&](bool holds, const char* rule) {
    if (!holds) throw LayoutViolation(output.name(), rule);
  };
  const auto before = input.file_bytes(), after = output.file_bytes();
  const std::uint64_t begin = section.header.sh_offset, end = begin + section.header.sh_size;
  require(before.size() == after.size(), "the file keeps its size");
  require(equal_bytes(before.first(begin), after.first(begin)), "bytes in front of the section stay");
  require(equal_bytes(before.subspan(end), after.subspan(end)), "bytes behind the section stay");
  const auto filled = after.subspan(begin, end - begin);
  require(equal_bytes(filled.first(bytes.size()), bytes), "the section has its contents");
  require(std::ranges::all_of(filled.subspan(bytes.size()), [](std::byte b) { return b == std::byte{0}; }),
          "the rest of the section is zero");
}

}  // namespace

void fill_section(const Image& image, const Section& section, std::span<const std::byte> bytes,
                  const std::filesystem::path& output) {
  assert(bytes.size() <= section.header.sh_size);
  files::AtomicFile file(output, image.file());
  FileImage contents;
  contents.size = image.file_bytes().size();
  contents.copies = {{0, 0, contents.size}};
  std::vector<std::byte> filling(bytes.begin(), bytes.end());
  filling.resize(section.header.sh_size);
  contents.patches = {{section.header.sh_offset, std::move(filling)}};
  write_file_image(contents, image.file(), file.descriptor(), output.string());
  check_filled(image, section, bytes, Image::open(file.descriptor(), output.string()));
  file.take_attributes();
  file.commit();
}

}  // namespace sframe_gen::elf
