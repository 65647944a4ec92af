#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "elf/edit/file_image.hpp"
#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "files/atomic_file.hpp"
#include "files/file_pieces.hpp"
#include "support/companion.hpp"
#include "support/digest.hpp"

namespace sframe_gen::elf {

/// Writes `image` with a new section to `output`, in three steps: the constructor starts to copy what no layout moves,
/// so that the copy of a large file runs while the caller still computes the section; `place` what moves, while its
/// bytes are written down; `finish` writes the rest.
///
/// The bytes go to a temporary file beside `output`, which takes over mode, owner and extended attributes of the
/// file it replaces (of the input, where `output` is new), is checked against the invariants of layout_check.hpp and
/// only then renamed over it. `output` may be the input itself; a symbolic link is followed to the file it names.
/// All steps throw Refused or SystemFailure: then, or when `finish` is never called, `output` stays as it was and no
/// temporary file is left.
class Rewrite {
 public:
  /// Both must outlive the rewrite. `opened`: the file that `image` was read from, or that was converted before and
  /// `image` is the original of.
  /// `keeps_way_back`: as the layout's section will say.
  Rewrite(const Image& image, const Image& opened, const std::filesystem::path& output, bool keeps_way_back = true);
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;
  Rewrite(Rewrite&&) = delete;
  Rewrite& operator=(Rewrite&&) = delete;

  /// What copies a large file by now, and has time for others then; null for a small one.
  Companion* companion() { return early_copy_.valid() ? &copier_.thread : nullptr; }
  /// Once, before `finish`; `layout` must live until that has returned.
  void place(const Layout& layout);
  /// `section_bytes` become the layout's section, placed as it says. Returns the size of the file.
  std::uint64_t finish(BytePieces section_bytes);

 private:
  /// Each through memory of its own.
  struct Copier {
    files::PieceBuffer buffer;
    Companion thread;
  };

  /// What has seen all bytes of the image, if the output keeps a way back to it.
  Digester copy_and_digest();
  void finish_large();

  const Image& image_;
  std::filesystem::path output_;
  std::string name_;  ///< of it, for messages
  bool keeps_way_back_;
  files::AtomicFile file_;
  std::uint64_t early_size_;       ///< bytes from the start of the file that are copied early
  std::uint64_t shared_size_ = 0;  ///< of these, the first, which need no copy as the files share them
  Digester original_;              ///< has seen what of it was copied early, and what is not copied at all
  const Layout* layout_ = nullptr;
  FileImage contents_;
  std::optional<FileImageWriter> writer_;  ///< of a large file
  // Of a large file, and last, as their work has use of the others.
  Copier copier_, second_;
  Copier* writer_of_rest_ = nullptr;  ///< of the two, the one that has nothing to copy
  Companion::Work early_copy_;
  Companion::Work behind_;  ///< what stands behind the early bytes is copied
};

/// Both steps at once.
void rewrite(const Image& image, const Layout& layout, BytePieces section_bytes, const std::filesystem::path& output);

/// Bytes of the file that a rewrite would make.
std::uint64_t rewritten_size(const Image& image, const Layout& layout, BytePieces section_bytes);

/// Writes what `image` was made from when it got `added` to `output`, as carefully as a Rewrite does. Returns
/// its size. Throws as `restore_original` does.
std::uint64_t write_original(const Image& image, const NewSection& added, const std::filesystem::path& output);

}  // namespace sframe_gen::elf
