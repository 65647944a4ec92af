#pragma once

#include <filesystem>
#include <vector>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "elf/image.hpp"

namespace sframe_gen::cli {

/// An object with its new section.
struct ConvertedObject {
  std::vector<std::byte> bytes;
  Report report;
};

/// Gives a relocatable object, be it a file or a member of an archive, .sframe and the relocations by which a linker
/// places and merges it. Throws Failure.
ConvertedObject convert_object(const Options& options, const elf::Image& object);

/// As above, and writes it to `output`, which is replaced atomically. Throws Failure; `output` is then as it was.
Report convert_object_file(const Options& options, const elf::Image& object, const std::filesystem::path& output);

}  // namespace sframe_gen::cli
