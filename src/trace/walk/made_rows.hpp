#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "files/kept_file.hpp"
#include "sframe_gen/module_map.hpp"
#include "sframe_gen/section.hpp"
#include "support/range.hpp"
#include "trace/walk/address_cache.hpp"

namespace sframe_gen::rows::proof {
class Decoder;
}

/// Rows of files that have none: made of call frame information (CFI), or of the code.
namespace sframe_gen::trace::walk {

/// What rows are made from.
enum class RowEvidence : std::uint8_t {
  Cfi,         ///< call frame information
  CfiAndCode,  ///< and the instructions of code that it does not describe
};

/// A section that the file does not have.
struct MadeSection {
  std::shared_ptr<const unwind::PagedSection> section;  ///< null: there is none
  std::string why_not;
  std::optional<files::KeptFile> kept;  ///< what the section sees, if it was not made in this run
};

/// Makes the section of a file, or takes the one that was kept in `cache`, which may be empty, and keeps it there.
MadeSection make_section(const elf::Image& image, const std::filesystem::path& cache, RowEvidence evidence);

class RowsFromCode;

/// How much code is proved for the rows of a run: a file takes 0.2 to 1 s and 4 to 12 MB for each MB (docs/bounds.md).
struct CodeBudget {
  static constexpr std::uint64_t most_of_file = std::uint64_t{4} << 20U;  ///< bytes
  std::uint64_t left = std::uint64_t{64} << 20U;                          ///< bytes, of all files
  /// How much of a file's code, in bytes, each look-up that needs its proof is worth. A recorder does not prove a large
  /// library for a few samples: libgmp's proof takes longer than the walks of 4,000.
  std::uint64_t for_each_lookup = most_of_file;
  /// Threads stand still while they are walked: files are not proved, but listed.
  bool waits = false;
  std::vector<RowsFromCode*> waiting;

  /// Proves those that are listed. False: there are none.
  bool prove_waiting();
};

/// Rows of code that call frame information (CFI) does not describe, from its instructions. x86-64; needs Zydis.
class RowsFromCode {
 public:
  /// Both must outlive it. `cache` is as in make_section().
  RowsFromCode(const elf::Image& image, const std::filesystem::path& cache, CodeBudget& budget);
  ~RowsFromCode();
  RowsFromCode(const RowsFromCode&) = delete;
  RowsFromCode& operator=(const RowsFromCode&) = delete;

  /// Returns the row of the instruction at `pc` by a proof of the whole file, which is made on the first call that the
  /// budget allows it for. None: it has none there, or the file is too large, or the budget has come to its end.
  std::optional<sframe::RecoveryRules> proved_at(std::uint64_t pc);
  /// What the code around an instruction shows.
  struct Seen {
    std::optional<sframe::RecoveryRules> row;
    bool has_callers_frame_pointer = false;  ///< which leads past the caller
  };
  /// Of the instruction at `pc`, which runs next, by the code of its function alone.
  Seen seen_at(std::uint64_t pc);
  /// Whether the program begins with the code at `pc`, so that it has no caller.
  bool begins_program(std::uint64_t pc);

 private:
  friend CodeBudget;
  const rows::proof::Decoder* decoder();
  void prove();
  void find_functions();
  Range function_around(std::uint64_t pc);

  const elf::Image& image_;
  const std::filesystem::path& cache_;
  CodeBudget& budget_;
  bool is_of_machine_;  ///< x86-64
  std::uint64_t unproved_lookups_ = 0;
  bool was_proved_ = false, decoder_was_tried_ = false;
  MadeSection proved_;
  std::unique_ptr<rows::proof::Decoder> decoder_;
  AddressCache<Seen> seen_;
  bool functions_were_sought_ = false;
  std::vector<Range> functions_;  ///< by their symbols, ascending
};

}  // namespace sframe_gen::trace::walk
