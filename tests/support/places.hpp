#pragma once

#include <string>

/// Where the tests find files of the project. They are functions of a source that CMake makes, not definitions for each
/// source of the tests: objects are the same wherever the checkout is, so that a compiler's cache has them for each.
namespace sframe_gen::test {

/// The top folder of the checkout, and that of the build, without a "/" at the end.
std::string source_folder();
std::string build_folder();

}  // namespace sframe_gen::test
