#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "files/kept_file.hpp"
#include "sframe_gen/module_map.hpp"
#include "sframe_gen/section.hpp"
#include "trace/files/file_root.hpp"
#include "trace/walk/address_cache.hpp"
#include "trace/walk/debuginfod.hpp"
#include "trace/walk/demangle.hpp"
#include "trace/walk/go_code.hpp"
#include "trace/walk/made_rows.hpp"
#include "trace/walk/source_names.hpp"

namespace sframe_gen::trace::walk {

/// A name and how far after its begin an address lies.
struct FunctionPlace {
  std::string_view name;    ///< demangled; empty: no symbol reaches the address
  std::string_view symbol;  ///< that the name was made of; empty: the name is the symbol, or the symbol is very long
  std::uint64_t offset = 0;
};

/// Where sections come from that a file does not have, or that lack rows; and names.
struct TranslationOptions {
  bool allowed = true;  ///< they are made from the file's call frame information
  /// Of code that it does not describe, rows are made from its instructions. Null: they are not.
  std::shared_ptr<CodeBudget> code = std::make_shared<CodeBudget>();
  std::filesystem::path cache;       ///< a folder where they are kept by build-id; empty: nowhere
  Debuginfod* debuginfod = nullptr;  ///< has debug files that are not here; null: none
  SourceOptions source;
};

/// Whether a frame has what frame pointers lead along: the caller's frame pointer, and the return address in the next
/// word, where the frame pointer is.
enum class FrameRecord : std::uint8_t {
  None,  ///< or it is not known
  Kept,
  OfCaller,   ///< it has none, and the frame pointer is that of its caller
  Outermost,  ///< there is no caller
};

/// An ELF file whose code runs somewhere: its rows and names. Addresses are virtual, the file's own.
class CodeFile {
 public:
  /// `bytes` are owned by `image`, or by `storage`. `root`: where its debug file is. `user`: who chose the file's name,
  /// as far as is known.
  CodeFile(elf::Image image, std::vector<std::byte> storage, const TranslationOptions& options, const FileRoot& root,
           uid_t user = 0);
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  const std::string& name() const { return image_.name(); }
  const elf::Image& image() const { return image_; }

  /// Rows. Those of the file's own section must not outlive this.
  using Rows = std::shared_ptr<const unwind::PagedSection>;
  /// Returns the file's own rows, or else some that are made on the first call. Null: there are none, and why_no_rows()
  /// says why.
  const Rows& rows();
  /// Returns rows that were made, for a PC that the file's own section leaves out. Null: there are none.
  const Rows& more_rows();
  const std::string& why_no_rows() const { return why_no_rows_; }
  /// Returns the row of the instruction at `pc`, which has none by then, from the code. `is_exact` is as in
  /// keeps_frame_pointer_at(). None: the code does not show it.
  std::optional<sframe::RecoveryRules> row_from_code(std::uint64_t pc, bool is_exact);
  /// Whether the program begins with the code at `pc`, so that it has no caller. By the same means.
  bool begins_program(std::uint64_t pc);

  FunctionPlace function_at(std::uint64_t address);
  /// Returns inlined calls and source lines of an address, if they are wanted. Valid until the next call.
  const SourceChain& source_at(std::uint64_t address);

  /// Whether the function at a PC without a row is seen to keep a frame pointer: by its symbol, it begins with
  /// instructions that set one; or of the 8 KiB of code before the PC, the last such instructions have no function end
  /// after them. They have no row either. `is_exact`: the next instruction is at `pc`, which is no return then; else
  /// the call is.
  bool keeps_frame_pointer_at(std::uint64_t pc, bool is_exact);
  /// Whether a function may return to `pc`: the code before it ends in a call, or a signal's handler returns there.
  bool may_return_to(std::uint64_t pc) const;
  /// Whether the code before `pc` ends in a system call.
  bool is_after_system_call(std::uint64_t pc) const;
  /// Returns how far below the stack pointer the frame pointer was, if it was just popped there, or 0.
  std::uint64_t popped_frame_pointer_at(std::uint64_t pc) const;
  /// Whether the function at `address`, the instruction of a call, has a frame record: by its row, of x86-64 only.
  FrameRecord frame_record_at(std::uint64_t address);
  /// Null: it is not a file of Go.
  GoCode* go_code();

 private:
  bool has_row(std::uint64_t address) const;
  std::span<const std::byte> code_before(std::uint64_t pc, std::uint64_t most) const;
  void open_own_section();
  void translate();
  RowsFromCode* rows_from_code();
  enum class Purpose : std::uint8_t { Names, SourceLines };
  void open_debug_file(Purpose purpose);
  void open_mini_debug_info();
  void read_names();
  void open_source();
  FunctionPlace look_up(std::uint64_t address);
  std::uint64_t begins_before(std::uint64_t address);

  std::vector<std::byte> storage_;
  elf::Image image_;
  const TranslationOptions& options_;
  const FileRoot& root_;
  uid_t user_;
  Rows own_, made_;
  bool own_was_tried_ = false, was_translated_ = false;
  std::string why_no_rows_;
  std::optional<files::KeptFile> kept_section_;  ///< what made_ sees, if it was not generated in this run
  std::unique_ptr<RowsFromCode> rows_from_code_;
  bool debug_was_sought_ = false, source_was_sought_ = false;
  std::optional<elf::Image> debug_;              ///< the separate debug file
  std::vector<std::byte> mini_debug_info_;       ///< of a file without a debug file; it has some names only
  std::optional<elf::Image> mini_debug_;         ///< that information
  std::unique_ptr<elf::SymbolNames> names_;      ///< made on the first question, of the debug file if there is one
  std::unique_ptr<elf::SymbolNames> own_names_;  ///< that the debug file may lack
  /// By the symbol's begin and end, which of two at one place may differ.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Demangled> demangled_;
  AddressCache<FunctionPlace> asked_;
  bool go_was_tried_ = false;
  std::unique_ptr<GoCode> go_;
  std::optional<elf::Image> alternate_;  ///< what debugging information refers to
  std::unique_ptr<SourceNames> source_;  ///< null: nothing says, or it is not wanted
};

}  // namespace sframe_gen::trace::walk
