#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>

#include "cli/file_tree.hpp"
#include "cli/options.hpp"
#include "command_line/program.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

/// Whether a section by itself may go to standard output. Throws Refused where nobody could use it: bytes on a
/// terminal.
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
};

/// Does what the options ask for to one file. What it has to say goes to `out` and `err`. `progress` shows how far the
/// work inside the file is; null where other files are at work as well.
FileResult work_on(const Subject& subject, const Options& options, std::ostream& out, std::ostream& err,
                   command_line::Progress* progress);

}  // namespace sframe_gen::cli
