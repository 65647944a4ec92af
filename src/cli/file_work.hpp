#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/file_tree.hpp"
#include "cli/options.hpp"
#include "cli/report/text.hpp"
#include "command_line/program.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::cli {

/// Checks that a standalone section may go to standard output. Throws Refused for bytes on a terminal.
void check_standard_output(EmitForm form);

/// Writes it to `output`, complete or not at all. Throws Refused where that is `file` itself, which it was made from.
void write_emitted(const std::string& contents, const std::filesystem::path& file, const std::filesystem::path& output);

/// What became of one file.
struct FileResult {
  enum class What : std::uint8_t { Done, Skipped, Refused, Unchecked, Failed };  ///< Unchecked: a row, and none wrong
  What what = What::Done;
  std::string reason;       ///< of what was refused or failed, without the file's name
  std::uint64_t rows = 0;   ///< written or verified
  std::int64_t growth = 0;  ///< bytes of the file
  CodeCount code;           ///< of what was converted, if it was counted
  /// With --remove: whether it has a section and no original to go back to. Found out in directories only.
  bool keeps_section = false;
};

/// The program's output from the work on a file. While other files are at work as well, it is kept in its order until
/// it is the file's turn.
class Output {
 public:
  enum class When : std::uint8_t { AtOnce, Later };

  explicit Output(When when) : when_(when) {}

  std::ostream& out() { return when_ == When::AtOnce ? std::cout : kept_; }
  /// Writes to standard error, after all that was written to out().
  void write_error(const std::string& text);
  /// Prints what is kept.
  void print();

 private:
  struct Part {
    std::string out, error;
  };

  When when_;
  std::ostringstream kept_;
  std::vector<Part> parts_;  ///< before what is in `kept_`
};

/// Gets the work done on a file, and all of it.
using Advance = std::function<void(std::uint64_t, std::uint64_t)>;

/// Does what the options ask for to one file. `progress` is cleared before anything is written; null if the output is
/// kept.
FileResult work_on(const Subject& subject, const Options& options, Output& output, command_line::Progress* progress,
                   const Advance& advance);

/// What became of all files of a run.
class FileTotals {
 public:
  void add(const std::string& file, const FileResult& result);
  /// Objects and archives that were found and are not converted without --objects.
  void leave_alone(std::size_t count) { left_alone_ = count; }
  /// Counts a temporary file of sframe-gen that was left alone.
  void add_temporary_file() { ++temporary_files_; }
  /// Exit status: 1 if any file failed or differed, else 3 if any has a row that cannot be checked.
  int status() const;

  /// "340 files: 320 converted, 18 refused, 2 failed; 123456 rows, 234567 bytes added", and a line for each reason.
  /// Files with rows that cannot be checked follow the verified ones, if there are any. Then come those left alone,
  /// those that keep their section (all if `verbose`, else five), and the share of code that has rows, with the files
  /// that lack most.
  void write(Action action, Done done, bool verbose, std::ostream& out) const;
  /// One object, {"total": …}.
  void write_json(Action action, std::ostream& out) const;

 private:
  void write_keeping(bool verbose, std::ostream& out) const;

  std::uint64_t done_ = 0, unchecked_ = 0, refused_ = 0, failed_ = 0, rows_ = 0;
  std::uint64_t temporary_files_ = 0;
  std::int64_t growth_ = 0;
  std::size_t left_alone_ = 0;
  std::vector<std::string> keeping_;  ///< files with a section and no original
  ReasonCounts reasons_;
  CodeShares code_;
};

}  // namespace sframe_gen::cli
