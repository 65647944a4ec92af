#pragma once

#include <filesystem>

namespace sframe_gen::files {

/// An empty file to read and write that no folder lists, and that is gone with the last who has it open. Lies in
/// `folder`, or where that cannot be, in memory. Throws SystemFailure.
class UnnamedFile {
 public:
  explicit UnnamedFile(const std::filesystem::path& folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace sframe_gen::files
