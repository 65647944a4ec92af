#pragma once

#include <string>

#include "elf/image.hpp"
#include "files/regions.hpp"

namespace sframe_gen::elf::object {

/// Returns the object without the section `name`, its relocations, and the local symbols that are in it. Sections and
/// symbols after them get lower numbers, and what names these follows. All else stays, but for its place in the file.
/// The object must have passed check_preconditions. Throws MalformedInput, and Refused if the section is not there, or
/// if anything else refers to it.
files::Regions without_section(const elf::Image& object, const std::string& name);

/// Checks what without_section() has made of `input`: each relocation is as it was, for the same place and against a
/// symbol of the same name, value and section, and no other contents have changed. Throws LayoutViolation.
void check_without_section(const elf::Image& input, const elf::Image& output, const std::string& name);

}  // namespace sframe_gen::elf::object
