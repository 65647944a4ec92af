#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "support/file_identity.hpp"

namespace sframe_gen {

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
  int descriptor() const { return descriptor_; }
  /// When it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  void map();

  std::string name_;
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
  FileIdentity identity_{};
};

}  // namespace sframe_gen
