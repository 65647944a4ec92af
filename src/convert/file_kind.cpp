#include "convert/file_kind.hpp"

#include <elf.h>

#include <array>
#include <fstream>
#include <span>
#include <string_view>

#include "archive/archive.hpp"
#include "archive/format.hpp"

namespace sframe_gen::convert {

FileKind kind_of(const std::filesystem::path& file) {
  std::error_code ignored;
  // To look into a FIFO would be to take from it.
  if (!std::filesystem::is_regular_file(file, ignored)) return FileKind::Other;
  std::ifstream stream(file, std::ios::binary);
  std::array<char, archive::regular_magic.size()> magic{};
  stream.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (std::string_view(magic.data(), SELFMAG) == std::string_view(ELFMAG, SELFMAG)) return FileKind::Elf;
  return archive::is_archive(std::as_bytes(std::span(magic))) ? FileKind::Archive : FileKind::Other;
}

}  // namespace sframe_gen::convert
