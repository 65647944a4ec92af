#pragma once

#include <string>

namespace sframe_gen::trace {

/// "std::vector<int>::at(unsigned long)" of a symbol that C++ or Rust made from it; any other symbol as it is.
std::string demangled(const std::string& symbol);

}  // namespace sframe_gen::trace
