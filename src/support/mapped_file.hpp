#pragma once

#include <filesystem>
#include <span>

namespace sframe_gen {

/// A regular file mapped read-only for its whole life. Throws SystemFailure or Refused ("is not a regular file").
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Open for reading as long as this object lives.
  int descriptor() const { return descriptor_; }

 private:
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace sframe_gen
