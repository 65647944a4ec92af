#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/section.hpp"

namespace sframe_gen::unwind {

/// One loaded file: its code, and the .sframe that its PT_GNU_SFRAME shows.
struct LoadedFile {
  struct Range {
    std::uint64_t begin, end;
  };
  std::string name;
  std::vector<Range> code;   ///< executable segments, at their run-time addresses
  sframe::Section section;   ///< function starts are run-time addresses
  bool has_section = false;  ///< else `section` is empty
};

/// The program's own file and every library it has loaded, as a stack tracer finds them: by dl_iterate_phdr.
class Tables {
 public:
  Tables();

  const std::vector<LoadedFile>& files() const { return files_; }
  /// The file whose code holds `pc`, or null.
  const LoadedFile* find(std::uint64_t pc) const;

 private:
  std::vector<LoadedFile> files_;
};

}  // namespace sframe_gen::unwind
