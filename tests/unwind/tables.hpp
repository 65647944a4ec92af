#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/section.hpp"
#include "sframe_gen/unwind.hpp"

namespace sframe_gen::unwind {

/// One loaded file, and the .sframe that its PT_GNU_SFRAME shows.
struct LoadedFile {
  std::string name;
  sframe::SectionView view;  ///< at run-time addresses, as all here
  sframe::Section section;   ///< the same, decoded: says of what kind a descriptor is
  bool has_section = false;  ///< else both are empty
};

/// The program's own file and every library it has loaded, as a stack tracer finds them: by dl_iterate_phdr.
class Tables {
 public:
  Tables();

  const std::vector<LoadedFile>& files() const { return files_; }
  /// Their executable segments.
  const std::vector<Module>& modules() const { return modules_; }
  /// The file with .sframe whose code holds `pc`, or null.
  const LoadedFile* find(std::uint64_t pc) const;

 private:
  std::vector<LoadedFile> files_;
  std::vector<Module> modules_;
};

}  // namespace sframe_gen::unwind
