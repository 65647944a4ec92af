#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "sframe_gen/section.hpp"

namespace sframe_gen::cli {

/// What is known of a descriptor but from its section.
struct DescribedFunction {
  std::string symbol;   ///< empty: none
  std::string section;  ///< of an object, where it starts: ".text+0x10"; else empty
};

/// A section as one JSON object on one line: header, descriptors, rows. Addresses are strings in hex, as JSON's numbers
/// lose bits; registers are DWARF's numbers. Of the descriptors those that are `wanted`.
void write_json(const std::string& file, const FileSection& section,
                const std::function<bool(const sframe::Fde&)>& wanted,
                const std::function<DescribedFunction(const sframe::Fde&)>& describe, std::ostream& out);

}  // namespace sframe_gen::cli
