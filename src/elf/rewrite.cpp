#include "elf/rewrite.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "elf/file_image.hpp"
#include "elf/layout_check.hpp"
#include "elf/original.hpp"
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

/// Reads instead of looking at the mapping: pages that nobody else looks at need not stay in memory.
Digester digester_of(const Image& image) {
  Digester digester;
  std::vector<std::byte> buffer(std::min<std::size_t>(image.file_bytes().size(), std::size_t{1} << 18));
  for (std::size_t done = 0; done < image.file_bytes().size();) {
    const ssize_t size = ::pread(image.descriptor(), buffer.data(), buffer.size(), static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) throw SystemFailure(image.name(), "read", size < 0 ? errno : EIO);
    digester.update(std::span(buffer).first(static_cast<std::size_t>(size)));
    done += static_cast<std::size_t>(size);
  }
  return digester;
}

}  // namespace

Rewrite::Rewrite(const Image& image, const Image& opened, const std::filesystem::path& output)
    : image_(image), output_(output), file_(output, opened.file()), early_size_(unmoved_size(image)) {
  if (early_size_ < smallest_early_copy) {
    early_size_ = 0;
    return;
  }
  early_copy_ = in_background([this] {
    copy_file_bytes({0, 0, early_size_}, image_.descriptor(), file_.descriptor(), output_.string());
  });
  digester_ = in_background([this] { return digester_of(image_); });
}

Rewrite::~Rewrite() {
  // They use the files, which go away after this.
  if (early_copy_.valid()) early_copy_.wait();
  if (digester_.valid()) digester_.wait();
}

std::uint64_t Rewrite::finish(const Layout& layout, std::span<const std::byte> section_bytes) {
  if (section_bytes.size() != layout.section_size) {
    throw std::logic_error("the layout was planned for another section size");
  }
  Digester original = digester_.valid() ? digester_.get() : digester_of(image_);
  FileImage contents = build_file_image(image_, layout, section_bytes, std::move(original));
  if (early_copy_.valid()) early_copy_.get();
  contents.early_size = early_size_;
  write_file_image(contents, image_.descriptor(), file_.descriptor(), output_.string());
  check_layout(image_, Image::open(file_.descriptor(), output_.string()), Contents::Affected, layout.section);
  file_.take_attributes();
  file_.commit();
  return contents.size;
}

void rewrite(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes,
             const std::filesystem::path& output) {
  Rewrite(image, image, output).finish(layout, section_bytes);
}

std::uint64_t rewritten_size(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes) {
  return build_file_image(image, layout, section_bytes, Digester()).size;
}

std::uint64_t write_original(const Image& image, const NewSection& added, const std::filesystem::path& output) {
  OutputFile file(output, image.file());
  const std::uint64_t size = restore_original(image, added, file.descriptor(), output.string());
  file.take_attributes();
  file.commit();
  return size;
}

}  // namespace sframe_gen::elf
