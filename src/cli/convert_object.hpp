#pragma once

#include <filesystem>
#include <vector>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "elf/image.hpp"
#include "object/object_writer.hpp"

namespace sframe_gen::cli {

/// The section that an object gets, before it is written into it.
struct LoweredObject {
  object::NewObjectSection section;
  Report report;
};

/// An object with its new section.
struct ConvertedObject {
  std::vector<std::byte> bytes;
  Report report;
};

/// What `object::check_preconditions` refuses has to be refused before. Throws Failure.
LoweredObject lower_object(const Options& options, const elf::Image& object);

/// Gives a relocatable object, be it a file or a member of an archive, .sframe and the relocations by which a linker
/// places and merges it. Throws Failure.
ConvertedObject convert_object(const Options& options, const elf::Image& object);

/// As above, and writes it to `output`, which is replaced atomically. Throws Failure; `output` is then as it was.
Report convert_object_file(const Options& options, const elf::Image& object, const std::filesystem::path& output);

}  // namespace sframe_gen::cli
