#include "elf/rewrite.hpp"

#include <stdexcept>

#include "elf/file_image.hpp"
#include "elf/layout_check.hpp"
#include "support/background.hpp"

namespace sframe_gen::elf {

namespace {

/// A smaller file is copied in less time than a thread takes to start.
constexpr std::uint64_t smallest_early_copy = 4 << 20;

/// Up to where bytes of the input keep their offset under nearly every plan: .sframe goes behind the segment that
/// holds .eh_frame, or behind all of them. A plan that inserts before is right all the same, only not faster.
std::uint64_t unmoved_size(const Image& image) {
  const Section* const eh_frame = image.find_section(".eh_frame");
  if (eh_frame == nullptr) return 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    const bool holds = segment.p_offset <= eh_frame->header.sh_offset && eh_frame->header.sh_offset < end;
    if (segment.p_type == PT_LOAD && holds && end <= image.file_bytes().size()) return end;
  }
  return 0;
}

}  // namespace

Rewrite::Rewrite(const Image& image, const std::filesystem::path& output)
    : image_(image), output_(output), file_(output), early_size_(unmoved_size(image)) {
  if (early_size_ < smallest_early_copy) {
    early_size_ = 0;
    return;
  }
  early_copy_ = in_background([this] {
    copy_file_bytes({0, 0, early_size_}, image_.descriptor(), file_.descriptor(), output_.string());
  });
}

Rewrite::~Rewrite() {
  // The copy uses the temporary file, which goes away after this.
  if (early_copy_.valid()) early_copy_.wait();
}

void Rewrite::finish(const Layout& layout, std::span<const std::byte> section_bytes) {
  if (section_bytes.size() != layout.section_size) {
    throw std::logic_error("the layout was planned for another section size");
  }
  FileImage contents = build_file_image(image_, layout, section_bytes);
  if (early_copy_.valid()) early_copy_.get();
  contents.early_size = early_size_;
  write_file_image(contents, image_.descriptor(), file_.descriptor(), output_.string());
  check_layout(image_, Image::open(file_.temporary_path()), Contents::Affected, layout.section);
  file_.take_attributes(image_.descriptor());
  file_.commit();
}

void rewrite(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes,
             const std::filesystem::path& output) {
  Rewrite(image, output).finish(layout, section_bytes);
}

}  // namespace sframe_gen::elf
