#include "elf/write/rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#include "elf/check/layout_check.hpp"
#include "elf/edit/file_image.hpp"
#include "elf/image.hpp"
#include "elf/undo/undo.hpp"
#include "files/file_pieces.hpp"

namespace sframe_gen::elf {

namespace {

/// A smaller file is copied in less time than a thread takes to start.
constexpr std::uint64_t smallest_early_copy = 1 << 19;

/// Up to where bytes of the input keep their offset under nearly every plan: .sframe goes behind the segment that
/// holds .eh_frame, or behind all of them. A plan that inserts before is right all the same, only not faster.
std::uint64_t unmoved_size(const Image& image) {
  const Section* const eh_frame = image.find_section(".eh_frame");
  if (eh_frame == nullptr) return 0;
  const auto load = find_load_at_offset(image, eh_frame->header.sh_offset);
  if (!load) return 0;
  const std::uint64_t end = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
  return end <= image.file_bytes().size() ? end : 0;
}

/// Adds [from, to) of the image; a hole's zeros need not be looked at.
void digest_bytes(const Image& image, std::uint64_t from, std::uint64_t to, files::PieceBuffer& buffer,
                  Digester& digester) {
  if (from == to) return;
  files::FilePieces pieces(image.descriptor(), buffer);
  while (from < to) {
    const files::StoredRange stored = files::next_stored(image.descriptor(), from, to);
    digester.update_zeros(stored.begin - from);
    for (from = stored.begin; from < stored.end;) {
      const auto piece = pieces.piece(from, stored.end - from);
      if (piece.empty()) throw SystemFailure(image.name(), "read", errno != 0 ? errno : EIO);
      digester.update(piece);
      from += piece.size();
    }
  }
}

}  // namespace

Rewrite::Rewrite(const Image& image, const Image& opened, const std::filesystem::path& output, bool keeps_way_back)
    : image_(image),
      output_(output),
      name_(output.string()),
      keeps_way_back_(keeps_way_back),
      file_(output, opened.file()),
      early_size_(unmoved_size(image)) {
  if (early_size_ < smallest_early_copy) {
    early_size_ = 0;
    return;
  }
  shared_size_ = clone_file_bytes(early_size_, image_.descriptor(), file_.descriptor());
  early_copy_ = copier_.thread.give([this] { original_ = copy_and_digest(); });
}

Digester Rewrite::copy_and_digest() {
  Digester digester;
  files::PieceBuffer& buffer = copier_.buffer;
  const int from = image_.descriptor(), to = file_.descriptor();
  if (keeps_way_back_) digest_bytes(image_, 0, shared_size_, buffer, digester);
  copy_file_bytes({shared_size_, shared_size_, early_size_ - shared_size_}, from, to, name_, buffer,
                  keeps_way_back_ ? &digester : nullptr);
  if (keeps_way_back_) digest_bytes(image_, early_size_, image_.file_bytes().size(), buffer, digester);
  return digester;
}

void Rewrite::place(const Layout& layout) {
  layout_ = &layout;
  contents_ = copies_of_input(layout);
  contents_.early_size = early_size_;
  if (!early_copy_.valid()) return;
  writer_.emplace(contents_, image_.descriptor(), file_.descriptor(), name_);
  // File systems let one thread write to a file at a time, but to write is not all that the early copy does.
  const CopiedBy copied_by = shared_size_ != 0 ? CopiedBy::Kernel : CopiedBy::Program;
  writer_of_rest_ = copier_.thread.is_idle() ? &copier_ : &second_;
  behind_ = writer_of_rest_->thread.give(
      [this, copied_by] { writer_->copy_behind_early_bytes(copied_by, writer_of_rest_->buffer); });
}

std::uint64_t Rewrite::finish(BytePieces section_bytes) {
  if (size_of(section_bytes) != layout_->section_size) {
    throw std::logic_error("the layout was planned for another section size");
  }
  // From here on the other thread reads nothing of it but the copies.
  add_patches(image_, *layout_, std::move(section_bytes), contents_);
  if (early_copy_.valid()) {
    finish_large();
    writer_->finish();
  } else {
    Digester original = copy_and_digest();
    if (layout_->section.keeps_way_back)
      append_undo(
          image_, *layout_, [&] { return std::move(original); }, contents_);
    write_file_image(contents_, image_.file(), file_.descriptor(), name_);
  }
  check_layout(image_, Image::open(file_.descriptor(), name_), Contents::Affected, layout_->section);
  file_.take_attributes();
  file_.commit();
  return contents_.size;
}

/// The way back is worked out while the patches are written, and the last of the early bytes.
void Rewrite::finish_large() {
  const std::vector<PlacedBytes> patches = writer_->patches_behind_early_bytes();
  Companion::Work written = writer_of_rest_->thread.give([&] {
    behind_.get();
    writer_->write(patches);
  });
  copier_.thread.give_no_more();
  second_.thread.give_no_more();
  const auto original = [&] {
    early_copy_.get();
    return std::move(original_);
  };
  if (layout_->section.keeps_way_back) {
    append_undo(image_, *layout_, original, contents_);
  } else {
    early_copy_.get();
  }
  written.get();
}

void rewrite(const Image& image, const Layout& layout, BytePieces section_bytes, const std::filesystem::path& output) {
  Rewrite rewrite(image, image, output);
  rewrite.place(layout);
  rewrite.finish(std::move(section_bytes));
}

std::uint64_t rewritten_size(const Image& image, const Layout& layout, BytePieces section_bytes) {
  FileImage contents = build_file_image(image, layout, std::move(section_bytes));
  if (layout.section.keeps_way_back)
    append_undo(
        image, layout, [] { return Digester(); }, contents);
  return contents.size;
}

std::uint64_t write_original(const Image& image, const NewSection& added, const std::filesystem::path& output) {
  files::AtomicFile file(output, image.file());
  const std::uint64_t size = restore_original(image, added, file.descriptor(), output.string());
  file.take_attributes();
  file.commit();
  return size;
}

}  // namespace sframe_gen::elf
