#pragma once

#include <cstdint>

#include "elf/image.hpp"

namespace sframe_gen::elf::object {

/// Where both are: files are compared without holding them in memory, and holes in them not at all.
enum class Stored : std::uint8_t { InMemory, InFiles };

/// Compares an object with a new section with the one it was made from, without knowing how. Throws LayoutViolation,
/// which names the broken rule:
///
///   * every section keeps its index, header and bytes, but for .sframe, .rela.sframe and the names of the sections,
///     which only grow; the ELF header keeps all but the place and count of the section headers
///   * contents lie in the file, after the ELF header and apart from each other
///   * .sframe is loaded, read-only and aligned; its relocations are for it, ascend, lie inside, and name symbols that
///     the object has
void check_object(const elf::Image& input, const elf::Image& output, Stored stored = Stored::InMemory);

}  // namespace sframe_gen::elf::object
