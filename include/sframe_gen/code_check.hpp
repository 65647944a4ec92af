#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/contradictions.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Compares call frame information (CFI) with the machine code that it describes.
namespace sframe_gen {

/// Follows the instructions of a linked file for x86-64. Throws Refused for another machine, for an object, for a file
/// without CFI, and if Zydis is not there; and other Failures (error.hpp).
///
/// `bounded_tables_only`: functions are refused if no comparison bounds one of their jump tables, instead of reading it
/// by its contents.
CodeCheck check_code(const std::filesystem::path& file, const WorkObserver& observer = {},
                     bool bounded_tables_only = false);

/// Why no code can be checked: Zydis is missing. Empty: it can.
std::string why_no_code_check();

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
