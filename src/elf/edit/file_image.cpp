#include "elf/edit/file_image.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "elf/records.hpp"
#include "files/file_pieces.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// [begin, end) of the input, split where something is inserted.
void add_copies(const OffsetMap& map, std::uint64_t begin, std::uint64_t end, std::vector<Copy>& copies) {
  for (const Insertion& insertion : map.insertions()) {
    if (insertion.at <= begin || insertion.at >= end) continue;
    copies.push_back({begin, map(begin), insertion.at - begin});
    begin = insertion.at;
  }
  if (begin < end) copies.push_back({begin, map(begin), end - begin});
}

std::vector<Copy> list_copies(const Layout& layout) {
  std::vector<Copy> copies;
  std::uint64_t begin = 0;
  for (const FileRange& dropped : layout.dropped) {
    add_copies(layout.offset_map, begin, std::min(dropped.begin, layout.copied_size), copies);
    begin = std::max(begin, dropped.end);
  }
  add_copies(layout.offset_map, begin, layout.copied_size, copies);
  for (const MovedBytes& moved : layout.moved)
    copies.push_back({moved.from.begin, moved.to, moved.from.end - moved.from.begin});
  return copies;
}

Patch header_patch(std::uint64_t offset, const Elf64_Ehdr& header, Endian endian) {
  Patch patch{offset, std::vector<std::byte>(sizeof(Elf64_Ehdr))};
  store_header(patch.bytes, header, endian);
  return patch;
}

Patch segment_table_patch(const Layout& layout, Endian endian) {
  Patch patch{layout.header.e_phoff, std::vector<std::byte>(layout.segments.size() * sizeof(Elf64_Phdr))};
  for (std::size_t i = 0; i < layout.segments.size(); ++i)
    store_segment(std::span(patch.bytes).subspan(i * sizeof(Elf64_Phdr)), layout.segments[i], endian);
  return patch;
}

Patch section_table_patch(const Layout& layout, Endian endian) {
  Patch patch{layout.header.e_shoff, std::vector<std::byte>(layout.sections.size() * sizeof(Elf64_Shdr))};
  for (std::size_t i = 0; i < layout.sections.size(); ++i)
    store_section(std::span(patch.bytes).subspan(i * sizeof(Elf64_Shdr)), layout.sections[i].header, endian);
  return patch;
}

Patch names_patch(const Layout& layout) {
  const auto names = std::as_bytes(std::span(layout.section_names));
  return {layout.sections[layout.header.e_shstrndx].header.sh_offset, {names.begin(), names.end()}};
}

}  // namespace

FileImage copies_of_input(const Layout& layout) {
  FileImage contents;
  contents.size = layout.file_size;
  contents.copies = list_copies(layout);
  return contents;
}

void add_patches(const Image& image, const Layout& layout, BytePieces section_bytes, FileImage& contents) {
  // Without section headers, their indices mean nothing, and no symbol moves.
  if (image.has_section_headers()) contents.patches = fix_symbols(image, layout);
  for (const DynamicPatch& dynamic : layout.dynamic_patches) {
    Patch patch{dynamic.offset, std::vector<std::byte>(sizeof(std::uint64_t))};
    store<std::uint64_t>(std::span(patch.bytes), dynamic.value, image.endian());
    contents.patches.push_back(std::move(patch));
  }
  std::uint64_t section_end = layout.section_offset;
  for (std::vector<std::byte>& piece : section_bytes) {
    const std::uint64_t begin = section_end;
    section_end += piece.size();
    contents.patches.push_back({begin, std::move(piece)});
  }
  contents.patches.push_back(header_patch(0, layout.header, image.endian()));
  contents.patches.push_back(segment_table_patch(layout, image.endian()));
  if (layout.old_headers) {
    contents.patches.push_back(header_patch(layout.old_headers->offset, layout.old_headers->header, image.endian()));
  }
  if (!layout.section_names.empty()) contents.patches.push_back(names_patch(layout));
  if (image.has_section_headers()) contents.patches.push_back(section_table_patch(layout, image.endian()));
}

FileImage build_file_image(const Image& image, const Layout& layout, BytePieces section_bytes) {
  FileImage contents = copies_of_input(layout);
  add_patches(image, layout, std::move(section_bytes), contents);
  return contents;
}

namespace {

/// Puts the part of `source`, which belongs at `offset`, that lies in `range` to its place in `bytes`.
void overlay(std::span<const std::byte> source, std::uint64_t offset, FileRange range, std::vector<std::byte>& bytes) {
  const std::uint64_t begin = std::max(range.begin, offset);
  const std::uint64_t end = std::min<std::uint64_t>(range.end, offset + source.size());
  if (begin >= end) return;
  const auto part = source.subspan(begin - offset, end - begin);
  std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin - range.begin));
}

}  // namespace

void visit_output_bytes(const Image& input, const FileImage& contents, FileRange range,
                        const std::function<void(std::span<const std::byte>)>& visit) {
  constexpr std::uint64_t step = 1 << 18;
  while (!range.empty()) {
    const Patch* on_top = nullptr;
    std::uint64_t end = range.end;
    for (const Patch& patch : contents.patches) {
      const std::uint64_t patch_end = patch.offset + patch.bytes.size();
      if (patch_end <= range.begin) continue;
      if (patch.offset <= range.begin) on_top = &patch;
      end = std::min(end, patch.offset <= range.begin ? patch_end : patch.offset);
    }
    if (on_top != nullptr) {
      visit(std::span(on_top->bytes).subspan(range.begin - on_top->offset, end - range.begin));
    } else {
      end = std::min(end, range.begin + step);
      visit(output_bytes(input, contents, {range.begin, end}));
    }
    range.begin = end;
  }
}

std::vector<std::byte> output_bytes(const Image& input, const FileImage& contents, FileRange range) {
  std::vector<std::byte> bytes(range.end - range.begin);
  for (const Copy& copy : contents.copies) overlay(input.slice(copy.from, copy.size, "copy"), copy.to, range, bytes);
  for (const Patch& patch : contents.patches) overlay(patch.bytes, patch.offset, range, bytes);
  return bytes;
}

namespace {

/// What is left of the list where so many bytes are written.
std::span<iovec> behind(std::span<iovec> list, std::size_t done) {
  while (!list.empty() && list.front().iov_len <= done) {
    done -= list.front().iov_len;
    list = list.subspan(1);
  }
  if (done == 0) return list;
  list.front().iov_base = static_cast<std::byte*>(list.front().iov_base) + done;
  list.front().iov_len -= done;
  return list;
}

}  // namespace

void ListWriter::add(std::uint64_t begin, std::span<const std::byte> bytes) {
  if (begin != end_) flush();
  end_ = begin;
  while (!bytes.empty()) {
    if (list_.size() == IOV_MAX || size_ == most_) flush();
    const auto now = bytes.first(std::min<std::uint64_t>(bytes.size(), most_ - size_));
    list_.push_back({const_cast<std::byte*>(now.data()), now.size()});
    size_ += now.size();
    end_ += now.size();
    bytes = bytes.subspan(now.size());
  }
}

void ListWriter::flush() {
  std::uint64_t at = end_ - size_;
  for (std::span<iovec> rest(list_); !rest.empty();) {
    const ssize_t done = ::pwritev(output_, rest.data(), static_cast<int>(rest.size()), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    // EFAULT: from a mapping whose file has become shorter.
    if (done <= 0) throw SystemFailure(name_, "write", done < 0 && errno != EFAULT ? errno : EIO);
    at += static_cast<std::uint64_t>(done);
    rest = behind(rest, static_cast<std::size_t>(done));
  }
  list_.clear();
  size_ = 0;
}

namespace {

/// No file system stores less than a block of so many bytes: zeros of fewer take no more of the disk than a hole, where
/// bytes stand on both sides of them.
constexpr std::uint64_t smallest_hole = 512;
constexpr std::array<std::byte, smallest_hole> zeros{};

/// What stands where. What is put later lies over what is there.
class Pieces {
 public:
  void put(std::uint64_t begin, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::uint64_t end = begin + bytes.size();
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.begin() && end_of(*std::prev(next)) > begin) --next;
    while (next != pieces_.end() && next->first < end) {
      const auto [below_begin, below] = *next;
      next = pieces_.erase(next);
      if (below_begin < begin) pieces_.emplace(below_begin, below.first(begin - below_begin));
      if (below_begin + below.size() > end) pieces_.emplace(end, below.subspan(end - below_begin));
    }
    pieces_.emplace(begin, bytes);
  }

  const auto& in_order() const { return pieces_; }

 private:
  using Piece = std::pair<const std::uint64_t, std::span<const std::byte>>;
  static std::uint64_t end_of(const Piece& piece) { return piece.first + piece.second.size(); }

  std::map<std::uint64_t, std::span<const std::byte>> pieces_;
};

Pieces pieces_of(const FileImage& contents, std::span<const std::byte> input) {
  Pieces pieces;
  for (const Copy& copy : contents.copies) pieces.put(copy.to, input.subspan(copy.from, copy.size));
  for (const Patch& patch : contents.patches) pieces.put(patch.offset, patch.bytes);
  return pieces;
}

}  // namespace

bool can_be_written_at_once(const FileImage& contents, const MappedFile& input) {
  constexpr std::uint64_t most = 1 << 19;
  const std::uint64_t size = input.bytes().size();
  if (contents.size > most || size > most || contents.early_size != 0) return false;
  const bool is_there = std::ranges::all_of(
      contents.copies, [&](const Copy& copy) { return copy.from <= size && copy.size <= size - copy.from; });
  // Holes have to stay holes.
  const files::StoredRange stored = files::next_stored(input.descriptor(), 0, size);
  return is_there && stored.begin == 0 && stored.end == size;
}

void write_at_once(const FileImage& contents, const MappedFile& input, int output, const std::string& name) {
  const Pieces pieces = pieces_of(contents, input.bytes());
  ListWriter writer(output, name);
  for (const auto& [begin, bytes] : pieces.in_order()) {
    if (begin - writer.end() < smallest_hole) writer.add(writer.end(), std::span(zeros).first(begin - writer.end()));
    writer.add(begin, bytes);
  }
  writer.flush();
  if (writer.end() != contents.size && ::ftruncate(output, static_cast<off_t>(contents.size)) != 0)
    throw SystemFailure(name, "write", errno);
}

namespace {

off_t offset_of(std::uint64_t value) {
  return static_cast<off_t>(value);
}

/// What a processor's own cache holds.
constexpr std::size_t buffer_size = files::FilePieces::for_a_write;

/// Of less, fewer pages are fresh: a sixteenth of the time that a file of 2 MB takes to copy.
std::size_t piece_size_for(std::uint64_t size) {
  constexpr std::size_t least = std::size_t{1} << 16;
  return std::clamp<std::size_t>(size / 32, least, buffer_size);
}

class FileWriter {
 public:
  /// `digester`, where there is one, sees all bytes that are copied.
  FileWriter(int input, int output, const std::string& name, files::PieceBuffer& buffer, Digester* digester = nullptr,
             CopiedBy copied_by = CopiedBy::Kernel)
      : input_(input),
        output_(output),
        name_(name),
        buffer_(buffer),
        digester_(digester),
        kernel_copies_(digester == nullptr && copied_by == CopiedBy::Kernel) {}

  void resize(std::uint64_t size) const {
    if (::ftruncate(output_, offset_of(size)) != 0) fail(errno);
  }

  void write(const std::byte* bytes, std::size_t size, std::uint64_t to) const {
    while (size != 0) {
      const ssize_t done = ::pwrite(output_, bytes, size, offset_of(to));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(done < 0 ? errno : EIO);
      bytes += done;
      size -= static_cast<std::size_t>(done);
      to += static_cast<std::uint64_t>(done);
    }
  }

  void clear(std::uint64_t to, std::uint64_t size) const {
    const std::vector<std::byte> empty(std::min<std::uint64_t>(size, buffer_size));
    while (size != 0) {
      const std::uint64_t step = std::min<std::uint64_t>(size, empty.size());
      write(empty.data(), step, to);
      to += step;
      size -= step;
    }
  }

  /// Holes of the input stay holes.
  void copy(Copy copy) {
    while (copy.size != 0) {
      const std::uint64_t end = copy.from + copy.size;
      const files::StoredRange stored = files::next_stored(input_, copy.from, end);
      if (digester_ != nullptr) digester_->update_zeros(stored.begin - copy.from);
      copy_data({stored.begin, copy.to + (stored.begin - copy.from), stored.end - stored.begin});
      copy = {stored.end, copy.to + (stored.end - copy.from), end - stored.end};
    }
  }

 private:
  void copy_data(Copy copy) {
    while (copy.size != 0) {
      const std::uint64_t done = kernel_copies_ ? copy_in_kernel(copy) : copy_piece(copy);
      copy = {copy.from + done, copy.to + done, copy.size - done};
    }
  }

  std::uint64_t copy_in_kernel(const Copy& copy) {
    off64_t from = offset_of(copy.from);
    off64_t to = offset_of(copy.to);
    const ssize_t done = ::copy_file_range(input_, &from, output_, &to, copy.size, 0);
    // EXDEV, EOPNOTSUPP, ENOSYS, EINVAL, and 0 on some file systems before Linux 5.19: the plain way tells
    // whether there is a real error.
    if (done <= 0) kernel_copies_ = false;
    return done > 0 ? static_cast<std::uint64_t>(done) : 0;
  }

  std::uint64_t copy_piece(const Copy& copy) {
    if (!pieces_) pieces_.emplace(input_, buffer_, piece_size_for(copy.size));
    const auto piece = pieces_->piece(copy.from, copy.size);
    if (piece.empty()) fail(errno != 0 ? errno : EIO);
    write(piece.data(), piece.size(), copy.to);
    if (digester_ != nullptr) digester_->update(piece);
    return piece.size();
  }

  [[noreturn]] void fail(int error_number) const { throw SystemFailure(name_, "write", error_number); }

  int input_;
  int output_;
  const std::string& name_;
  files::PieceBuffer& buffer_;
  Digester* digester_;
  bool kernel_copies_;
  std::optional<files::FilePieces> pieces_;
};

/// How much of it, from its start, the early copy brings.
std::uint64_t copied_early(const Copy& copy, const FileImage& contents) {
  const bool early = copy.from == copy.to && copy.to < contents.early_size;
  return early ? std::min(copy.size, contents.early_size - copy.to) : 0;
}

/// Clears what the early copy brought and the file image wants elsewhere or not at all.
void clear_after_early_copy(const FileImage& contents, const FileWriter& writer) {
  std::vector<Copy> in_place;
  for (const Copy& copy : contents.copies)
    if (const std::uint64_t done = copied_early(copy, contents); done != 0)
      in_place.push_back({copy.from, copy.to, done});
  std::sort(in_place.begin(), in_place.end(), [](const Copy& a, const Copy& b) { return a.to < b.to; });
  std::uint64_t end = 0;
  for (const Copy& copy : in_place) {
    if (copy.to > end) writer.clear(end, copy.to - end);
    end = std::max(end, copy.to + copy.size);
  }
  if (end < contents.early_size) writer.clear(end, contents.early_size - end);
}

/// The copies that are still to be made.
std::vector<Copy> left_by_early_copy(const FileImage& contents) {
  std::vector<Copy> left;
  for (const Copy& copy : contents.copies) {
    const std::uint64_t done = copied_early(copy, contents);
    if (done != copy.size) left.push_back({copy.from + done, copy.to + done, copy.size - done});
  }
  return left;
}

/// 0: nobody knows.
std::uint64_t block_size_of(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && status.st_blksize > 0 ? static_cast<std::uint64_t>(status.st_blksize) : 0;
}

bool shares(const Copy& blocks, int input, int output) {
  file_clone_range range{};
  range.src_fd = input;
  range.src_offset = blocks.from;
  range.src_length = blocks.size;
  range.dest_offset = blocks.to;
  return ::ioctl(output, FICLONERANGE, &range) == 0;
}

/// Whether the kernel's copy shares blocks of these files, which to write their bytes would not.
bool can_share(const FileImage& contents, int input, int output) {
  constexpr std::uint64_t least = 4096;  // no file system that shares has smaller blocks
  for (const Copy& copy : contents.copies) {
    if (copy.from % least != 0 || copy.to % least != 0 || copy.size < least) continue;
    const std::uint64_t block = block_size_of(input);
    return block != 0 && block <= copy.size && shares({copy.from, copy.to, block}, input, output);
  }
  return false;
}

}  // namespace

void write_file_image(const FileImage& contents, const MappedFile& input, int output, const std::string& name) {
  if (can_be_written_at_once(contents, input) && !can_share(contents, input.descriptor(), output))
    return write_at_once(contents, input, output, name);
  FileImageWriter(contents, input.descriptor(), output, name).finish();
}

void FileImageWriter::copy_behind_early_bytes(CopiedBy copied_by, files::PieceBuffer& buffer) {
  FileWriter writer(input_, output_, name_, buffer, nullptr, copied_by);
  for (const Copy& copy : left_by_early_copy(contents_))
    if (is_behind(copy.to)) writer.copy(copy);
  behind_is_copied_ = true;
}

std::vector<PlacedBytes> FileImageWriter::patches_behind_early_bytes() {
  std::vector<PlacedBytes> behind;
  for (const Patch& patch : contents_.patches)
    if (is_behind(patch.offset)) behind.push_back({patch.offset, patch.bytes});
  patches_then_ = contents_.patches.size();
  return behind;
}

void FileImageWriter::write(const std::vector<PlacedBytes>& patches) const {
  ListWriter writer(output_, name_, buffer_size);
  for (const PlacedBytes& patch : patches) writer.add(patch.offset, patch.bytes);
  writer.flush();
}

void FileImageWriter::finish() const {
  files::PieceBuffer buffer;
  FileWriter writer(input_, output_, name_, buffer);
  writer.resize(contents_.size);
  clear_after_early_copy(contents_, writer);
  // What comes now and reaches behind the early bytes may lie over patches that are there, which come on top.
  bool is_over_written = false;
  const auto note = [&](std::uint64_t end) { is_over_written |= end > contents_.early_size; };
  for (const Copy& copy : left_by_early_copy(contents_)) {
    if (behind_is_copied_ && is_behind(copy.to)) continue;
    writer.copy(copy);
    note(copy.to + copy.size);
  }
  for (std::size_t i = 0; i < contents_.patches.size(); ++i) {
    const Patch& patch = contents_.patches[i];
    if (i < patches_then_ && is_behind(patch.offset) && !is_over_written) continue;
    writer.write(patch.bytes.data(), patch.bytes.size(), patch.offset);
    note(patch.offset + patch.bytes.size());
  }
}

void write_patches(const std::vector<Patch>& patches, int output, const std::string& name) {
  files::PieceBuffer none;
  const FileWriter writer(-1, output, name, none);
  for (const Patch& patch : patches) writer.write(patch.bytes.data(), patch.bytes.size(), patch.offset);
}

void copy_file_bytes(const Copy& copy, int input, int output, const std::string& name, files::PieceBuffer& buffer,
                     Digester* digester) {
  FileWriter(input, output, name, buffer, digester).copy(copy);
}

std::uint64_t clone_file_bytes(std::uint64_t size, int input, int output) {
  const std::uint64_t block = block_size_of(input);
  const Copy blocks{0, 0, block == 0 ? 0 : size - size % block};
  return blocks.size != 0 && shares(blocks, input, output) ? blocks.size : 0;
}

}  // namespace sframe_gen::elf
