#include "elf/rewrite.hpp"

#include <stdexcept>

#include "elf/file_image.hpp"
#include "elf/layout_check.hpp"
#include "elf/output_file.hpp"

namespace sframe_gen::elf {

void rewrite(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes,
             const std::filesystem::path& output) {
  if (section_bytes.size() != layout.section_size)
    throw std::logic_error("the layout was planned for another section size");
  OutputFile file(output);
  write_file_image(build_file_image(image, layout, section_bytes), image.descriptor(), file.descriptor(),
                   output.string());
  check_layout(image, Image::open(file.temporary_path()), Contents::Affected);
  file.take_attributes(image.descriptor());
  file.commit();
}

}  // namespace sframe_gen::elf
