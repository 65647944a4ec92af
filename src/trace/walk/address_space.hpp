#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/module_map.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/hash.hpp"
#include "trace/walk/code_file.hpp"
#include "trace/walk/jit_dump.hpp"
#include "trace/walk/perf_map.hpp"

namespace sframe_gen::trace::walk {

/// The file of a mapping, or what is known instead of it.
struct OpenedFile {
  std::shared_ptr<CodeFile> file;  ///< null: it cannot be had
  std::string why_not;
  std::shared_ptr<PerfMaps::OfProcess> names{};  ///< of code of no file; null: none
};

/// Why a mapping has no file, where programs write their code themselves.
inline constexpr const char* is_of_no_file = "code of no file (just-in-time code?)";

/// What locations have in common.
struct LocatedFile {
  std::string name;                     ///< the mapping's path, or the jitdump's, fit to be printed
  OpenedFile opened{};                  ///< its file
  bool is_of_no_file = false;           ///< its memory was never a file's, as that of just-in-time compilers
  std::shared_ptr<JitCode> jit_code{};  ///< whose functions it has; null: of none
};

/// What a PC led to in an address space. Stays the same as long as it is there, whatever is mapped at that place later.
/// Each function of just-in-time code has one, so they are small.
struct Location {
  std::shared_ptr<const LocatedFile> of;
  std::uint64_t bias = 0;    ///< what addresses are above those in the file; without a file: above offsets in it
  std::size_t function = 0;  ///< of the jit_code

  const std::string& name() const { return of->name; }
  bool is_of_no_file() const { return of->is_of_no_file; }
  /// Null: it cannot be had, and why_not() says why.
  std::shared_ptr<CodeFile> file() const { return of->jit_code ? of->jit_code->file_of(function) : of->opened.file; }
  const std::string& why_not() const { return of->opened.why_not; }
};

/// Files that are opened once each.
class OpenedFiles {
 public:
  /// Returns the file of `key`, which tells it from all others; `open` is called for the first one and may throw
  /// Failure, which becomes the reason why there is none.
  template <typename Open>
  const OpenedFile& get(const std::string& key, const Open& open) {
    const auto [found, is_new] = files_.try_emplace(key);
    if (is_new) found->second = result_of(open);
    return found->second;
  }

 private:
  template <typename Open>
  static OpenedFile result_of(const Open& open) try {
    return open();
  } catch (const Failure& failure) {
    return {nullptr, failure.what()};
  }

  SeededMap<std::string, OpenedFile> files_;
};

/// They stay where they are.
using Locations = std::deque<Location>;

struct Frame {
  std::uint64_t pc = 0;
  /// True: `pc` is the next instruction's. False: it is a return address, and the call is before it.
  bool pc_is_exact = true;
  /// The place of instruction(); null: in no mapping. Owned by the address space that was walked, and by its copies.
  const Location* location = nullptr;
  /// The callee had no row, and its frame pointer led here.
  bool by_frame_pointer = false;
  /// The callee had no row, and its instructions led here.
  bool by_code = false;
  /// It was a frame of the thread at an earlier sample, whose callee was the frame before.
  bool from_earlier_sample = false;
  /// 0: it is a frame. Else it stands for so many between its neighbors, and has no PC.
  std::uint32_t left_out = 0;

  /// For `left_out`: some, as a recording does not say how many.
  static constexpr std::uint32_t some = UINT32_MAX;

  std::uint64_t instruction() const { return pc_is_exact ? pc : pc - 1; }
};

/// A part of a file in the memory of a walked program, as its kernel tells.
struct Mapping {
  std::uint64_t begin = 0, end = 0;  ///< addresses in the program
  std::uint64_t file_offset = 0;
  std::string path;  ///< "[vdso]", "/lib/libc.so.6", "/tmp/gone (deleted)"
  /// The file's numbers, as stat() returns them, if they are known.
  std::uint64_t device = 0, inode = 0;
  std::uint64_t generation = 0;  ///< tells files apart that have had the same inode number, one after the other
  std::string build_id{};        ///< of the file, as digits, if it is known
  int process = 0;               ///< that made it, as its number is known outside of containers

  /// Whether its memory is a program's own: of no name, or one that kernels and perf give it ("//anon", "[heap]",
  /// "/memfd:doublemapper (deleted)").
  bool is_of_no_file() const;
};

/// Maps a program's addresses to files and rows, for the unwinder and for the names of frames. A file is opened when a
/// PC first leads into it, and asked for more rows when its own section has none there.
class AddressSpace {
 public:
  using OpenFile = std::function<OpenedFile(const Mapping&)>;

  /// `executable`: its mappings of code, as they came: where two overlap, the later one holds. `locations`:
  /// shared, since the locations of frames outlive this address space and its copies.
  AddressSpace(const std::vector<Mapping>& executable, OpenFile open_file,
               std::shared_ptr<Locations> locations = std::make_shared<Locations>());

  /// One more, which may take the place of others.
  void add(const Mapping& mapping);

  /// From now on, code of no file is what this says it is, at the time that it is at.
  void set_jit_code(std::shared_ptr<JitCode> code) {
    jit_code_ = std::move(code);
    jit_file_ = nullptr;
  }
  /// Null: nothing says.
  JitCode* jit_code() const { return jit_code_.get(); }

  /// For unwind::Walked. What refers to them holds as long as their generation is the same.
  const unwind::ModuleMap& modules() const { return modules_; }

  /// Whether a mapping holds `pc`.
  bool has_code_at(std::uint64_t pc) const { return modules_.find(pc) != nullptr; }

  /// Returns where a PC is, or null if no mapping holds it. The pointer stays valid. Changes the modules if it opens a
  /// file, which tells where they end.
  const Location* location_of(std::uint64_t pc);

  /// Opens the file of the module that holds `pc` or, if its rows say nothing there, asks for more. False: nothing has
  /// changed.
  bool find_rows(std::uint64_t pc);
  /// Before the program is stopped: all files that are there.
  void find_all_rows();

  /// Whether the program's own code keeps frame pointers, as far as stacks have shown: that many in a row, in code of
  /// no file, had one that led to a caller.
  bool keeps_frame_pointers() const { return frame_pointers_in_a_row_ == enough_frame_pointers; }
  static constexpr unsigned enough_frame_pointers = 32;
  /// `is_one`: it led to a caller; false: the register had another value.
  void note_frame_pointer(bool is_one) {
    frame_pointers_in_a_row_ = is_one ? std::min(frame_pointers_in_a_row_ + 1, enough_frame_pointers) : 0;
  }

 private:
  struct Mapped;

  static const Mapped& mapped_in(const unwind::ModuleContents& contents);
  const unwind::Module* opened_at(std::uint64_t pc);
  void open(const unwind::Module& module);
  const unwind::Module* with_jit_code(std::uint64_t pc, const unwind::Module& module);
  void forget_jit_code();

  unwind::ModuleMap modules_;
  OpenFile open_file_;
  std::shared_ptr<Locations> locations_;
  std::shared_ptr<JitCode> jit_code_;
  std::shared_ptr<const LocatedFile> jit_file_;  ///< of its locations
  unsigned frame_pointers_in_a_row_ = 0;
  std::size_t jit_parts_ = 0;  ///< modules that were made of them
};

/// A part of a mapping, all of one segment.
struct MappedPiece {
  std::uint64_t begin, end;  ///< addresses in the program
  std::uint64_t bias;        ///< what they are above those of the file
};

/// Without gaps, ascending. The kernel maps whole pages, whose size is its own business: where a page of the file has
/// the end of one segment and the begin of another, both mappings hold both, and the offset in the file tells which it
/// is. Empty: the mapping holds no part of a PT_LOAD, or of too many, so that the file is not the one that was mapped.
std::vector<MappedPiece> pieces_of(const Mapping& mapping, const elf::Image& image);

}  // namespace sframe_gen::trace::walk
