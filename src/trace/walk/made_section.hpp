#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "elf/image.hpp"
#include "files/kept_file.hpp"
#include "sframe_gen/module_map.hpp"

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

}  // namespace sframe_gen::trace::walk
