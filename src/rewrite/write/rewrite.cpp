#include "rewrite/write/rewrite.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <utility>

#include "files/stored_bytes.hpp"
#include "rewrite/check/layout_check.hpp"
#include "rewrite/check/removal_check.hpp"
#include "rewrite/edit/contents.hpp"
#include "rewrite/plan/removal.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::rewrite {

namespace {

/// A smaller file is copied in less time than a thread takes to start. Without early copies, large files take 1.0
/// to 1.3 times as long (docs/performance.md).
constexpr std::uint64_t smallest_early_copy = 1 << 19;

/// Returns up to where bytes of the input keep their offset under nearly every plan: .sframe goes after the segment
/// that holds .eh_frame, or after all of them. The output is right under any other plan, only not written as fast.
std::uint64_t unmoved_size(const elf::Image& image) {
  const elf::Section* const eh_frame = image.find_section(".eh_frame");
  if (eh_frame == nullptr) return 0;
  const auto load = elf::find_load_at_offset(image, eh_frame->header.sh_offset);
  if (!load) return 0;
  const std::uint64_t end = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
  return end <= image.file_bytes().size() ? end : 0;
}

}  // namespace

Rewrite::Rewrite(const elf::Image& image, const elf::Image& opened, const std::filesystem::path& output,
                 bool keeps_undo_record)
    : image_(image),
      name_(output.string()),
      keeps_undo_record_(keeps_undo_record),
      file_(output, opened.file()),
      early_size_(unmoved_size(image)) {
  if (early_size_ < smallest_early_copy) {
    early_size_ = 0;
    return;
  }
  files::RegionWriter writer(image_.file(), file_.descriptor(), name_);
  shared_size_ = writer.share({0, early_size_, files::Region::Source::Input});
  early_copy_ = async([this] { copy_and_digest(); });
}

/// Copies the early bytes. If the output keeps an undo record, digests all bytes of the image, while they are in the
/// processor's cache. Read, not mapped: mapping the pages of a large file takes longer than copying them.
void Rewrite::copy_and_digest() {
  files::RegionWriter writer(image_.file(), file_.descriptor(), name_);
  if (!keeps_undo_record_) {
    const files::Region rest{shared_size_, early_size_ - shared_size_, files::Region::Source::Input, shared_size_};
    return writer.write({&rest, 1});
  }
  const std::uint64_t size = image_.file_bytes().size();
  const std::size_t most = std::min<std::uint64_t>(size, files::most_at_once);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(most);
  for (std::uint64_t at = 0; at < size;) {
    const Range stored = files::next_stored(image_.descriptor(), at, size);
    original_.update_zeros(stored.begin - at);
    for (at = stored.begin; at < stored.end;) {
      const bool is_copied = at >= shared_size_ && at < early_size_;
      const std::uint64_t end = is_copied ? early_size_ : at < shared_size_ ? shared_size_ : size;
      const std::uint64_t wanted = std::min<std::uint64_t>(std::min(stored.end, end) - at, most);
      const auto piece = files::read_piece(image_.descriptor(), at, {buffer.get(), wanted});
      if (piece.empty()) throw SystemFailure(image_.name(), "read", errno != 0 ? errno : EIO);
      const files::Region copied{at, piece.size(), files::Region::Source::Bytes, 0, piece.data()};
      if (is_copied) writer.write({&copied, 1});
      original_.update(piece);
      at += piece.size();
    }
  }
}

/// Returns the regions of [begin, end) that threads write.
std::vector<files::Region> Rewrite::part(std::uint64_t begin, std::uint64_t end) const {
  return contents_.part(std::max(begin, early_size_), std::min(end, last_));
}

void Rewrite::write(const std::vector<files::Region>& regions) const {
  files::RegionWriter(image_.file(), file_.descriptor(), name_).write(regions, early_size_);
}

void Rewrite::begin_writing(const Layout& layout) {
  layout_ = &layout;
  contents_ = contents_of(image_, layout);
  if (early_size_ == 0) return;
  // The last section header is that of the record that gives the input back, which is worked out at the end.
  last_ = std::max(early_size_, contents_.size() - (keeps_undo_record_ ? sizeof(Elf64_Shdr) : 0));
  const std::uint64_t end = layout.section_offset + layout.section_size;
  rest_ = async([this, before = part(0, layout.section_offset), after = part(end, last_)] {
    write(before);
    write(after);
  });
}

std::uint64_t Rewrite::finish(ByteChunks section_bytes) {
  if (section_bytes.size() != layout_->section_size)
    throw std::logic_error("the layout was planned for another section size");
  contents_.put_bytes(layout_->section_offset, std::move(section_bytes));
  const std::uint64_t begin = layout_->section_offset, end = begin + layout_->section_size;
  const bool has_threads = early_copy_.valid();
  Async section;
  if (has_threads) section = async([this, regions = part(begin, end)] { write(regions); });
  const auto original = [&] {
    if (!has_threads) {
      copy_and_digest();
    } else {
      // The early copy takes longest: what no thread has begun meanwhile is written by this one.
      rest_.get();
      section.get();
      early_copy_.get();
    }
    return std::move(original_);
  };
  if (layout_->section.keeps_undo_record)
    append_undo(image_, *layout_, original, contents_);
  else if (has_threads)
    original();
  write(contents_.part(0, early_size_));
  write(contents_.part(last_, contents_.size()));
  files::resize(file_.descriptor(), contents_.size(), name_);
  check_layout(image_, elf::Image::open(file_.descriptor(), name_), Contents::Affected, layout_->section);
  file_.commit();
  return contents_.size();
}

void rewrite(const elf::Image& image, const Layout& layout, ByteChunks section_bytes,
             const std::filesystem::path& output) {
  Rewrite rewrite(image, image, output);
  rewrite.begin_writing(layout);
  rewrite.finish(std::move(section_bytes));
}

std::uint64_t rewritten_size(const elf::Image& image, const Layout& layout, ByteChunks section_bytes) {
  files::Regions contents = contents_of(image, layout);
  contents.put_bytes(layout.section_offset, std::move(section_bytes));
  if (layout.section.keeps_undo_record)
    append_undo(
        image, layout, [] { return Digester(); }, contents);
  return contents.size();
}

Original write_original(const elf::Image& image, const elf::NewSection& added, const std::filesystem::path& output) {
  files::AtomicFile file(output, image.file());
  const Original original = restore_original(image, added, file.descriptor(), output.string());
  file.commit();
  return original;
}

std::uint64_t write_without_section(const elf::Image& image, const elf::Image& opened, const elf::NewSection& removed,
                                    const std::filesystem::path& output) {
  const Layout layout = plan_removal(image, removed);
  files::AtomicFile file(output, opened.file());
  files::write_regions(contents_of(image, layout), image.file(), file.descriptor(), output.string());
  check_removal(image, elf::Image::open(file.descriptor(), output.string()), removed);
  file.commit();
  return layout.file_size;
}

void fill_section(const elf::Image& image, const elf::Section& section, std::span<const std::byte> bytes,
                  const std::filesystem::path& output) {
  assert(bytes.size() <= section.header.sh_size);
  files::AtomicFile file(output, image.file());
  files::Regions contents;
  contents.put_input(0, 0, image.file_bytes().size());
  std::vector<std::byte> filling(bytes.begin(), bytes.end());
  filling.resize(section.header.sh_size);
  contents.put_bytes(section.header.sh_offset, std::move(filling));
  files::write_regions(contents, image.file(), file.descriptor(), output.string());
  check_filled(image, section, bytes, elf::Image::open(file.descriptor(), output.string()));
  file.commit();
}

}  // namespace sframe_gen::rewrite
