#include "cli/version.hpp"

namespace sframe_gen::cli {

std::string version_text() {
  return "sframe-gen " SFRAME_GEN_VERSION " (writes SFrame 3, 2 and 1 and CTF Frame for AMD64, AArch64 and s390x)";
}

}  // namespace sframe_gen::cli
