#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {

/// What an assembly file says of a function beside its bytes.
struct AssemblyFunction {
  std::string start;  ///< expression for the stored start: "\".text\"+16 - ."
  std::string name;   ///< for people; may be empty
};

struct AssemblyFrame {
  std::string section_type;           ///< after '%': "progbits", or a number
  std::vector<std::string> comments;  ///< lines at the top
  std::vector<std::string> prologue;  ///< directives in front of the section
};

/// An assembly file that GNU as and clang's assembler, for any machine, turn into the section `bytes`: a directive for
/// each field, over each row a comment in the notation of readelf --sframe, over each function one with its name.
///
///   * only block comments: '#', ';', '@' and "//" are comments for some machines and not for others
///   * sizes in the names of the directives (.4byte), as a .long or a .word has another size elsewhere
///   * %progbits, as '@' may start a comment
///
/// `section` is what `bytes` say; rows follow each other without gaps, in the order of the functions, as the encoder
/// writes them. `fdes` has one element for each function of `section`.
std::string assembly_text(std::span<const std::byte> bytes, const Section& section,
                          std::span<const AssemblyFunction> fdes, const AssemblyFrame& frame);

/// A name as assemblers take it, quoted where it has to be.
std::string assembly_name(const std::string& name);

}  // namespace sframe_gen::sframe
