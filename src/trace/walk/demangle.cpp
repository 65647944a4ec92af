#include "trace/walk/demangle.hpp"

#include <libiberty/demangle.h>

#include <cstddef>

namespace sframe_gen::trace {

namespace {

/// Names repeat their parts by number, so that ten letters may double the text: real ones have a few kilobytes at most.
constexpr std::size_t longest = std::size_t{64} << 10U;

struct TooLong {};

/// A demangle_callbackref. The exception goes through C functions that have nothing to tidy up.
void append(const char* text, std::size_t size, void* name) {
  auto& whole = *static_cast<std::string*>(name);
  if (size > longest - whole.size()) throw TooLong{};
  whole.append(text, size);
}

}  // namespace

std::string demangled(const std::string& symbol) {
  // No symbol that a compiler made begins otherwise: C++ _Z, Rust _R or _Z.
  if (symbol.size() < 3 || symbol[0] != '_') return symbol;
  constexpr int style = DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI;
  try {
    std::string name;
    if (rust_demangle_callback(symbol.c_str(), style, append, &name) != 0) return name;
    name.clear();
    if (cplus_demangle_v3_callback(symbol.c_str(), style, append, &name) != 0) return name;
  } catch (const TooLong&) {
    // As it is, then.
  }
  return symbol;
}

}  // namespace sframe_gen::trace
