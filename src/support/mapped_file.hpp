#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

/// Files that are mapped for reading, and what becomes of those that are cut short meanwhile.
namespace sframe_gen {

/// Owns an open file. Negative: there is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Returns false if what was written cannot be stored.
  bool close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Which file it is, and in which state: any write, and any change of its mode, owner or links, makes another one.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t modified_s = 0, modified_ns = 0;
  std::int64_t changed_s = 0, changed_ns = 0;

  FileIdentity() = default;
  explicit FileIdentity(const struct stat& status)
      : device(status.st_dev),
        inode(status.st_ino),
        size(status.st_size),
        modified_s(status.st_mtim.tv_sec),
        modified_ns(status.st_mtim.tv_nsec),
        changed_s(status.st_ctim.tv_sec),
        changed_ns(status.st_ctim.tv_nsec) {}

  bool is_same_file(const FileIdentity& other) const { return device == other.device && inode == other.inode; }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class MappedFile;

/// Drops the pages of a large file that have been read from the program's memory; they come back from the page cache if
/// they are read again. Other threads may be reading them meanwhile.
void drop_pages(const MappedFile& file);

/// A regular file mapped read-only for its whole life. Throws SystemFailure or Refused ("is not a regular file").
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  /// An open file, of which it takes a descriptor of its own; `name` is for messages.
  MappedFile(int descriptor, std::string name);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// For messages.
  const std::string& name() const { return name_; }
  /// Open for reading as long as this object lives.
  int descriptor() const { return file_.number(); }
  /// When it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  void map();

  std::string name_;
  std::span<const std::byte> bytes_;
  Descriptor file_;
  FileIdentity identity_{};
};

/// Reading a mapped page that its file has no more, or that its disk cannot deliver, raises SIGBUS, which ends a
/// program. Who may write to a file can cut it short at any time.
///
/// From now on, a mapped file is all zeros once such a page is read. Installs a handler of SIGBUS, which leaves all
/// other memory to the handler before it: for programs, not for libraries.
void read_cut_files_as_zeros();

/// Whether a mapped file, of which these are all bytes, became zeros.
bool was_cut(std::span<const std::byte> file);
/// Throws Refused if it did: what was read of it may be anything.
void check_is_whole(std::span<const std::byte> file, const std::string& name);

/// What is mapped, and what is about to be unmapped. For MappedFile.
void note_mapped(std::span<const std::byte> file);
void forget_mapped(std::span<const std::byte> file);

}  // namespace sframe_gen
