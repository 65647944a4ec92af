#include "cli/version.hpp"

namespace sframe_gen::cli {

std::string version_text() {
  return "sframe-gen " SFRAME_GEN_VERSION " (writes SFrame 3 for AMD64)";
}

}  // namespace sframe_gen::cli
