#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "cli/file_work.hpp"
#include "cli/options.hpp"

namespace sframe_gen::cli {

/// What became of all files of a run.
class Totals {
 public:
  void add(const FileResult& result);
  /// Exit status: 1 if any file failed or differed, else 3 if any has a row that cannot be checked.
  int status() const;

  /// "340 files: 320 converted, 18 refused, 2 failed; 123456 rows, 234567 bytes added", and a line for each reason.
  /// Files with rows that cannot be checked stand behind those that were verified, where there are any.
  void write(Action action, std::ostream& out) const;
  /// One object, {"total": …}.
  void write_json(Action action, std::ostream& out) const;

 private:
  std::uint64_t done_ = 0, unchecked_ = 0, refused_ = 0, failed_ = 0, rows_ = 0;
  std::int64_t growth_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> reasons_;  ///< in the order in which they first came
};

}  // namespace sframe_gen::cli
