#include "trace/demangle.hpp"

#include <libiberty/demangle.h>

#include <cstdlib>
#include <memory>

namespace sframe_gen::trace {

std::string demangled(const std::string& symbol) {
  // No symbol that a compiler made begins otherwise: C++ _Z, Rust _R or _Z.
  if (symbol.size() < 3 || symbol[0] != '_') return symbol;
  const std::unique_ptr<char, decltype(&std::free)> text(
      cplus_demangle(symbol.c_str(), DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI), &std::free);
  return text ? text.get() : symbol;
}

}  // namespace sframe_gen::trace
