#pragma once

#include <filesystem>
#include <vector>

#include "elf/image.hpp"
#include "elf/object/object_writer.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

namespace sframe_gen::convert {

/// The section that an object gets, before it is written into it.
struct ObjectSection {
  elf::object::NewObjectSection section;
  Coverage coverage;
  bool has_only_empty_functions = false;  ///< there is nothing to say, and so no section
};

/// An object with its new section.
struct ConvertedObject {
  std::vector<std::byte> bytes;
  ObjectOutcome outcome;
  bool is_unchanged = false;  ///< all of its functions are empty
};

/// `object` has passed elf::object::check_preconditions. Throws Failure.
ObjectSection make_object_section(const elf::Image& object, const ConvertOptions& options);

/// Gives a relocatable object, be it a file or a member of an archive, .sframe and the relocations by which a linker
/// places and merges it. Throws Failure.
ConvertedObject convert_object(const elf::Image& object, const ConvertOptions& options);

/// As above, and writes it to `output`, which is replaced atomically. Throws Failure; `output` is then as it was.
ObjectOutcome convert_object_file(const elf::Image& object, const std::filesystem::path& output,
                                  const ConvertOptions& options);

}  // namespace sframe_gen::convert
