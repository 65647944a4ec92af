#include "elf/write/rewrite.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <functional>
#include <stdexcept>
#include <utility>

#include "elf/check/layout_check.hpp"
#include "elf/edit/contents.hpp"
#include "elf/undo/undo.hpp"
#include "files/stored_bytes.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// A smaller file is copied in less time than a thread takes to start.
constexpr std::uint64_t smallest_early_copy = 1 << 19;

/// Returns up to where bytes of the input keep their offset under nearly every plan: .sframe goes after the segment
/// that holds .eh_frame, or after all of them. The output is right under any other plan, only not written as fast.
std::uint64_t unmoved_size(const Image& image) {
  const Section* const eh_frame = image.find_section(".eh_frame");
  if (eh_frame == nullptr) return 0;
  const auto load = find_load_at_offset(image, eh_frame->header.sh_offset);
  if (!load) return 0;
  const std::uint64_t end = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
  return end <= image.file_bytes().size() ? end : 0;
}

/// Adds [from, to) of the image. Read, not mapped: a large file's pages would take longer to map than to copy.
void digest_bytes(const Image& image, std::uint64_t from, std::uint64_t to, Digester& digester) {
  std::array<std::byte, std::size_t{1} << 15> buffer;
  while (from < to) {
    const Range stored = files::next_stored(image.descriptor(), from, to);
    digester.update_zeros(stored.begin - from);
    for (from = stored.begin; from < stored.end;) {
      const std::uint64_t size = std::min<std::uint64_t>(stored.end - from, buffer.size());
      const auto piece = files::read_piece(image.descriptor(), from, std::span(buffer).first(size));
      if (piece.empty()) throw SystemFailure(image.name(), "read", errno != 0 ? errno : EIO);
      digester.update(piece);
      from += piece.size();
    }
  }
}

}  // namespace

Rewrite::Rewrite(const Image& image, const Image& opened, const std::filesystem::path& output, bool keeps_way_back)
    : image_(image),
      name_(output.string()),
      keeps_way_back_(keeps_way_back),
      file_(output, opened.file()),
      early_size_(unmoved_size(image)) {
  if (early_size_ < smallest_early_copy) {
    early_size_ = 0;
    return;
  }
  files::RegionWriter writer(image_.file(), file_.descriptor(), name_);
  shared_size_ = writer.share({0, early_size_, files::Region::Source::Input});
  early_copy_ = async([this] { original_ = copy_and_digest(); });
}

/// Copies the early bytes. Digests all bytes of the image, if the output keeps a way back to it.
Digester Rewrite::copy_and_digest() {
  Digester digester;
  if (keeps_way_back_) digest_bytes(image_, 0, shared_size_, digester);
  const files::Region copied{shared_size_, early_size_ - shared_size_, files::Region::Source::Input, shared_size_};
  files::RegionWriter(image_.file(), file_.descriptor(), name_, keeps_way_back_ ? &digester : nullptr)
      .write({&copied, 1});
  if (keeps_way_back_) digest_bytes(image_, early_size_, image_.file_bytes().size(), digester);
  return digester;
}

void Rewrite::write(const std::vector<files::Region>& regions) {
  files::RegionWriter(image_.file(), file_.descriptor(), name_).write(regions, early_size_);
}

void Rewrite::place(const Layout& layout) {
  layout_ = &layout;
  contents_ = contents_of(image_, layout);
  if (early_size_ == 0) return;
  // The last section header is that of the record that gives the input back, which is worked out at the end.
  last_ = std::max(early_size_, contents_.size() - (keeps_way_back_ ? sizeof(Elf64_Shdr) : 0));
  const std::uint64_t begin = std::clamp(layout.section_offset, early_size_, last_);
  const std::uint64_t end = std::clamp(layout.section_offset + layout.section_size, early_size_, last_);
  rest_ = async([this, before = contents_.part(early_size_, begin), after = contents_.part(end, last_)] {
    write(before);
    write(after);
  });
}

std::uint64_t Rewrite::finish(BytePieces section_bytes) {
  if (size_of(section_bytes) != layout_->section_size)
    throw std::logic_error("the layout was planned for another section size");
  put_section(*layout_, std::move(section_bytes), contents_);
  Async section;
  if (early_size_ != 0) {
    const std::uint64_t begin = layout_->section_offset, end = begin + layout_->section_size;
    section = async(
        [this, regions = contents_.part(std::max(begin, early_size_), std::min(end, last_))] { write(regions); });
  }
  const auto original = [&] {
    if (early_size_ == 0) return copy_and_digest();
    // The early copy takes longest: what no thread has begun meanwhile is written by this one.
    rest_.get();
    section.get();
    early_copy_.get();
    return std::move(original_);
  };
  if (layout_->section.keeps_way_back) {
    append_undo(image_, *layout_, original, contents_);
  } else if (early_size_ != 0) {
    original();
  }
  std::vector<files::Region> left = contents_.part(0, early_size_);
  const auto last = contents_.part(last_, contents_.size());
  left.insert(left.end(), last.begin(), last.end());
  files::RegionWriter writer(image_.file(), file_.descriptor(), name_);
  writer.write(left, early_size_);
  writer.resize(contents_.size());
  check_layout(image_, Image::open(file_.descriptor(), name_), Contents::Affected, layout_->section);
  file_.take_attributes();
  file_.commit();
  return contents_.size();
}

void rewrite(const Image& image, const Layout& layout, BytePieces section_bytes, const std::filesystem::path& output) {
  Rewrite rewrite(image, image, output);
  rewrite.place(layout);
  rewrite.finish(std::move(section_bytes));
}

std::uint64_t rewritten_size(const Image& image, const Layout& layout, BytePieces section_bytes) {
  files::Regions contents = contents_of(image, layout);
  put_section(layout, std::move(section_bytes), contents);
  if (layout.section.keeps_way_back)
    append_undo(
        image, layout, [] { return Digester(); }, contents);
  return contents.size();
}

std::uint64_t write_original(const Image& image, const NewSection& added, const std::filesystem::path& output) {
  files::AtomicFile file(output, image.file());
  const std::uint64_t size = restore_original(image, added, file.descriptor(), output.string());
  file.take_attributes();
  file.commit();
  return size;
}

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
  files::Regions contents;
  contents.put_input(0, 0, image.file_bytes().size());
  std::vector<std::byte> filling(bytes.begin(), bytes.end());
  filling.resize(section.header.sh_size);
  contents.put_bytes(section.header.sh_offset, std::move(filling));
  files::write_regions(contents, image.file(), file.descriptor(), output.string());
  check_filled(image, section, bytes, Image::open(file.descriptor(), output.string()));
  file.take_attributes();
  file.commit();
}

}  // namespace sframe_gen::elf
