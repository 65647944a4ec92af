#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sframe_gen::trace::report {

/// Returns where a function's own name begins in its demangled one: after the type that it returns, which the names of
/// templates begin with. 5 of "void std::sort<int*>(int*)".
std::size_t begin_of_own_name(std::string_view name);

/// Returns a name for little room: it begins with the function's own name, and has "(anon)" for namespaces without one.
std::string short_label(std::string_view name);

}  // namespace sframe_gen::trace::report
