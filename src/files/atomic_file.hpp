#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "files/new_file.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// A file that appears under its name complete or not at all: a NewFile, which replaces the target by `commit` and is
/// gone if that never comes. Without `write_through` nothing is fsynced; the installer does.
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
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  int descriptor() const { return file_->descriptor(); }

  /// Gives the file the mode, owner, access control lists, file capabilities and other extended attributes of the file
  /// that is replaced (where there is none, as `New` says), and its name. Nothing may be written afterwards. Throws
  /// Refused if another process changed input or target meanwhile: that change would be lost.
  void commit();

 private:
  void take_attributes() const;
  void check_unchanged() const;
  void copy_extended_attributes(int source, bool is_new) const;

  const MappedFile& input_;
  New kind_;
  Place target_;
  std::optional<FileIdentity> target_before_;
  std::optional<NewFile> file_;
};

/// Writes `pieces` one after the other, made from `input`, to `output` as AtomicFile does: complete or not at all, with
/// the attributes of the file it replaces, which may be the input. Throws Refused or SystemFailure.
void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input, AtomicFile::New kind = AtomicFile::New::LikeInput);

/// Makes `name` another name of `file`, in place of the file `old` (its device and inode). Throws Refused if another
/// file has that name, or `file` another owner, or SystemFailure.
void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file,
                     const std::pair<dev_t, ino_t>& old);

}  // namespace sframe_gen::files
