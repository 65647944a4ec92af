#pragma once

#include <string>

namespace sframe_gen::cli {

/// "sframe-gen 0.1.0 (SFrame 3; AMD64)".
std::string version_text();

}  // namespace sframe_gen::cli
