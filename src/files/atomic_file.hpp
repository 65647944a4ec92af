#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "files/temporary_file.hpp"
#include "support/file_identity.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// A file that appears under its name complete or not at all: a temporary file in the same folder, renamed over the
/// target by `commit` and removed if that never comes. We do not fsync; the installer does.
class AtomicFile {
 public:
  /// Whose attributes a file has that replaces none.
  enum class New : std::uint8_t {
    LikeInput,  ///< the contents are a new form of the input's
    LikeAny,    ///< they are of another kind: the mode that any new file has
  };

  /// `input` is what the contents are made from, and may be the target itself. A symbolic link is followed. Throws
  /// Refused when `target` is there and must not change, another Failure when it is no regular file, or SystemFailure.
  AtomicFile(const std::filesystem::path& target, const MappedFile& input, New kind = New::LikeInput);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  int descriptor() const { return descriptor_; }

  /// Mode, owner, access control lists, file capabilities and other extended attributes of the file that is
  /// replaced; where there is none, as `New` says. To be called when the contents are written, since the kernel takes
  /// setuid bits and capabilities away from a file that is written to.
  void take_attributes();
  /// Throws Refused when somebody changed input or target meanwhile: their change would be lost.
  void commit();

 private:
  std::optional<FileIdentity> target_now() const;
  void create_temporary_file();
  void check_unchanged() const;
  void copy_extended_attributes(int source, bool is_new) const;

  const MappedFile& input_;
  New kind_;
  std::filesystem::path target_;
  std::optional<FileIdentity> target_before_;
  std::optional<TemporaryFile> temporary_;
  int descriptor_ = -1;
};

}  // namespace sframe_gen::files
