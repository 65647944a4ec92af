#pragma once

#include <filesystem>

#include "elf/image.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

namespace sframe_gen::convert {

/// Restores what a program or library was before its conversion, or, if the options say so and there is no original,
/// takes the section out. Throws Failure; `output` is then as it was.
RemoveOutcome remove_from_linked(const elf::Image& image, const std::filesystem::path& output,
                                 const RemoveOptions& options);

/// Takes the section, its relocations and its symbols out of a relocatable object. Throws Failure; `output` is then as
/// it was.
RemoveOutcome remove_from_object(const elf::Image& object, const std::filesystem::path& output,
                                 const RemoveOptions& options);

/// Does the same to each member of an archive that has the section. If one cannot be changed, nothing is.
RemoveOutcome remove_from_archive(const std::filesystem::path& input, const std::filesystem::path& output,
                                  const RemoveOptions& options);

/// Whether a file, or a member of an archive, has a section that `remove_section` cannot take out, because there is no
/// original to go back to. A damaged file, or one that cannot be read, is none.
bool has_section_for_good(const std::filesystem::path& file);

}  // namespace sframe_gen::convert
