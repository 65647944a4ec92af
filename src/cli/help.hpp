#pragma once

#include <string>

namespace sframe_gen::cli {

/// What --help prints.
std::string help_text();

}  // namespace sframe_gen::cli
