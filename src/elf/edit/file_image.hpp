#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "elf/edit/symbol_patches.hpp"
#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "elf/records.hpp"
#include "files/file_pieces.hpp"
#include "support/bytes.hpp"
#include "support/digest.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::elf {

struct Copy {
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t size;
};

/// The output as ranges of the input and patches over them; what neither names is zero. A large file costs little
/// more than the copy that the kernel makes, and next to no memory.
struct FileImage {
  std::uint64_t size = 0;
  std::uint64_t early_size = 0;  ///< bytes at the start that the output has already, as they stand in the input
  std::vector<Copy> copies;
  std::vector<Patch> patches;
};

/// What of the input goes where: the first half of what follows, for which the section's bytes need not be known.
FileImage copies_of_input(const Layout& layout);

/// What comes on top.
void add_patches(const Image& image, const Layout& layout, BytePieces section_bytes, FileImage& contents);

/// All of it but what gives the input back (undo/undo.hpp).
FileImage build_file_image(const Image& image, const Layout& layout, BytePieces section_bytes);

/// Fills the empty file `output`; `name` is for messages. Throws SystemFailure.
void write_file_image(const FileImage& contents, const MappedFile& input, int output, const std::string& name);

/// The kernel lets files share blocks, where their file system can. Where it cannot, it copies 64 KB at a time: two
/// threads that write to one file wait for each other less often where the program copies.
enum class CopiedBy : std::uint8_t { Kernel, Program };

/// Bytes that somebody else has.
struct PlacedBytes {
  std::uint64_t offset;
  std::span<const std::byte> bytes;
};

/// The same in steps: what stands behind the early bytes can be written while they are still on their way, and before
/// all patches are known.
class FileImageWriter {
 public:
  /// `contents` gets its patches after the first step, may get more behind all others after the second, and grow by
  /// them. All must outlive the writer.
  FileImageWriter(const FileImage& contents, int input, int output, const std::string& name)
      : contents_(contents), input_(input), output_(output), name_(name) {}

  /// Where the program copies, through `buffer`.
  void copy_behind_early_bytes(CopiedBy copied_by, files::PieceBuffer& buffer);
  /// Which of the patches there are now stand behind the early bytes; `write` them before `finish`.
  std::vector<PlacedBytes> patches_behind_early_bytes();
  void write(const std::vector<PlacedBytes>& patches) const;
  /// The early bytes are there. Writes all the rest.
  void finish() const;

 private:
  bool is_behind(std::uint64_t offset) const { return offset >= contents_.early_size; }

  const FileImage& contents_;
  int input_;
  int output_;
  const std::string& name_;
  bool behind_is_copied_ = false;
  std::size_t patches_then_ = 0;  ///< when what stands behind was written
};

/// Throws SystemFailure.
void write_patches(const std::vector<Patch>& patches, int output, const std::string& name);

/// Copies one range; holes of the input stay holes. `digester` sees the bytes on their way, which is through `buffer`.
/// Throws SystemFailure.
void copy_file_bytes(const Copy& copy, int input, int output, const std::string& name, files::PieceBuffer& buffer,
                     Digester* digester = nullptr);

/// Lets `output` share as many whole blocks from the start of `input` as `size` holds, and returns how many bytes these
/// are: 0 where the file system cannot.
std::uint64_t clone_file_bytes(std::uint64_t size, int input, int output);

/// The bytes of an output that is not written yet. `range` may reach beyond its end, where all is zero.
std::vector<std::byte> output_bytes(const Image& input, const FileImage& contents, FileRange range);
/// The same in pieces, in order; a patch's where they are.
void visit_output_bytes(const Image& input, const FileImage& contents, FileRange range,
                        const std::function<void(std::span<const std::byte>)>& visit);

/// Hands bytes that stand one behind the other in a file to the kernel in one list: a page that two calls write to is
/// looked up twice, and pages come in larger blocks where the kernel knows of more.
class ListWriter {
 public:
  /// `most`: bytes at once, after which another thread that writes to the file gets its turn.
  ListWriter(int output, const std::string& name, std::uint64_t most = UINT64_MAX)
      : output_(output), name_(name), most_(most) {}

  /// `bytes` stay as they are up to the next flush(). Throws SystemFailure, as that does.
  void add(std::uint64_t begin, std::span<const std::byte> bytes);
  void flush();

  /// Where the list ends, in the file.
  std::uint64_t end() const { return end_; }

 private:
  int output_;
  const std::string& name_;
  std::uint64_t most_;
  std::vector<iovec> list_;
  std::uint64_t size_ = 0;  ///< of the list
  std::uint64_t end_ = 0;
};

/// Whether the next is worth it: what is small takes longer to tell the kernel of, piece by piece, than to copy.
bool can_be_written_at_once(const FileImage& contents, const MappedFile& input);

/// Fills the empty file `output`, of which nothing is there early: the pieces of `input`'s mapping and the patches go
/// to the kernel in one list. Throws SystemFailure.
void write_at_once(const FileImage& contents, const MappedFile& input, int output, const std::string& name);

}  // namespace sframe_gen::elf
