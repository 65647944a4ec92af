#pragma once

#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/object/object_writer.hpp"
#include "sframe/assembly.hpp"
#include "sframe_gen/section.hpp"

/// How an assembly file names the functions of the file it is made from.
namespace sframe_gen::convert {

/// The symbol that stands for the section's address in the assembly file of a linked file.
inline constexpr const char* section_address_symbol = "sframe_section_address";

/// Returns the functions of a linked file as assembly names them: "0x401000 - (sframe_section_address + 28)". `section`
/// is decoded at its address.
std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& image, const sframe::Section& section);

/// The same for an object. Starts are written as ".text+16 - .", with section names, which the object's assembly source
/// can use as well. Functions that FDEs name by a global symbol keep that symbol. Throws Refused for a section whose
/// name is not unique or cannot be written in assembly.
std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& object,
                                                         const elf::object::NewObjectSection& section);

/// A symbol that the object defines, by which an assembly file can find out whether it follows the object's own
/// source. Empty: there is none with a plain name.
std::string symbol_of_source(const elf::Image& object, const elf::object::NewObjectSection& section);

}  // namespace sframe_gen::convert
