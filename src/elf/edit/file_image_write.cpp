#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <vector>

#include "elf/edit/file_image.hpp"
#include "elf/edit/list_writer.hpp"
#include "elf/edit/write_at_once.hpp"
#include "files/file_pieces.hpp"
#include "files/stored_range.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

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
