#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "files/atomic_file.hpp"
#include "files/regions.hpp"
#include "rewrite/plan/layout.hpp"
#include "rewrite/undo/undo.hpp"
#include "support/byte_chunks.hpp"
#include "support/hash.hpp"
#include "support/workers.hpp"

namespace sframe_gen::rewrite {

/// Writes `image` with a new section to `output`, in three steps: the constructor starts to copy what few layouts move,
/// so that the copy of a large file runs while the caller still computes the section; `begin_writing` starts to write
/// all else but the section; `finish` writes the section and completes the file.
///
/// The bytes go to a file without a name where `output` is, which takes over mode, owner and extended attributes of the
/// file it replaces (of the input, where `output` is new), is checked against the invariants of layout_check.hpp and
/// only then takes its name. `output` may be the input itself; a symbolic link is followed to the file it names.
/// All steps throw Refused or SystemFailure: then, or when `finish` is never called, `output` stays as it was and no
/// temporary file is left.
class Rewrite {
 public:
  /// Both images must outlive the rewrite. `opened`: the file that `image` was read from, or that was converted before
  /// and `image` is the original of. `keeps_undo_record`: as in the layout's section.
  Rewrite(const elf::Image& image, const elf::Image& opened, const std::filesystem::path& output,
          bool keeps_undo_record = true);
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;
  Rewrite(Rewrite&&) = delete;
  Rewrite& operator=(Rewrite&&) = delete;

  /// Once, before `finish`; `layout` must live until that has returned.
  void begin_writing(const Layout& layout);
  /// `section_bytes` become the layout's section. Returns the size of the file.
  std::uint64_t finish(ByteChunks section_bytes);

 private:
  void copy_and_digest();
  std::vector<files::Region> part(std::uint64_t begin, std::uint64_t end) const;
  void write(const std::vector<files::Region>& regions) const;

  const elf::Image& image_;
  std::string name_;  ///< of the output, for messages
  bool keeps_undo_record_;
  files::AtomicFile file_;
  std::uint64_t early_size_;       ///< bytes from the start of the file that are copied early; 0 for a small file
  std::uint64_t shared_size_ = 0;  ///< of these, the first, which need no copy as the files share them
  Digester original_;              ///< sees all bytes of the image
  const Layout* layout_ = nullptr;
  files::Regions contents_;
  std::uint64_t last_ = 0;   ///< the offset from which on a large file is written last
  Async early_copy_, rest_;  ///< last: they use the others
};

/// Does all three steps.
void rewrite(const elf::Image& image, const Layout& layout, ByteChunks section_bytes,
             const std::filesystem::path& output);

/// Returns the size in bytes of the file that a rewrite would make.
std::uint64_t rewritten_size(const elf::Image& image, const Layout& layout, ByteChunks section_bytes);

/// Writes what `image` was made from when it got `added` to `output`, as carefully as a Rewrite does. Throws as
/// `restore_original` does.
Original write_original(const elf::Image& image, const elf::NewSection& added, const std::filesystem::path& output);

/// Writes `image` to `output` without its section `removed`, as `plan_removal` says, and as carefully as a Rewrite
/// does. `opened`: as for a Rewrite. Returns the size of the file. Throws as `plan_removal` and a Rewrite do.
std::uint64_t write_without_section(const elf::Image& image, const elf::Image& opened, const elf::NewSection& removed,
                                    const std::filesystem::path& output);

/// Writes `image` to `output` with `bytes`, no more than `section` has, as the contents of `section`, zeros after
/// them, and every other byte as it was. `output` is replaced as a Rewrite replaces it, after a check that just this is
/// so. Throws Refused, SystemFailure or LayoutViolation.
void fill_section(const elf::Image& image, const elf::Section& section, std::span<const std::byte> bytes,
                  const std::filesystem::path& output);

}  // namespace sframe_gen::rewrite
