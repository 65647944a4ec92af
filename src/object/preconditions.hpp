#pragma once

#include "elf/image.hpp"

namespace sframe_gen::object {

/// Throws Refused for objects of which no section can be made: other machines, compiler intermediate code in place of
/// machine code, program headers, sections that share bytes.
void check_describable(const elf::Image& object);

/// As above, and for objects whose contents cannot be laid down anew: bytes appended, signatures (unless
/// `drop_signature`: then what follows the section headers goes).
void check_preconditions(const elf::Image& object, bool drop_signature);

}  // namespace sframe_gen::object
