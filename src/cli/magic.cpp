#include "cli/magic.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>

namespace sframe_gen::cli {

bool is_elf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  char magic[SELFMAG] = {};
  stream.read(magic, sizeof magic);
  return stream && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

}  // namespace sframe_gen::cli
