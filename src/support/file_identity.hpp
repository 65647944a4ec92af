#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace sframe_gen {

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

}  // namespace sframe_gen
