#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/file_tree.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"

namespace sframe_gen::cli {

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
                   Progress* progress);

}  // namespace sframe_gen::cli
