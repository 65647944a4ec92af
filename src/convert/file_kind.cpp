#include "convert/file_kind.hpp"

#include <elf.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <string_view>

#include "archive/archive.hpp"
#include "archive/format.hpp"

namespace sframe_gen::convert {

namespace {

std::array<char, archive::regular_magic.size()> first_bytes(const std::filesystem::path& file) {
  std::array<char, archive::regular_magic.size()> magic{};
  std::error_code ignored;
  // Reading from a FIFO would take bytes out of it.
  if (!std::filesystem::is_regular_file(file, ignored)) return magic;
  std::ifstream stream(file, std::ios::binary);
  stream.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return magic;
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  const auto magic = first_bytes(file);
  if (std::string_view(magic.data(), SELFMAG) == std::string_view(ELFMAG, SELFMAG)) return FileKind::Elf;
  return archive::is_archive(std::as_bytes(std::span(magic))) ? FileKind::Archive : FileKind::Other;
}

bool is_thin_archive(const std::filesystem::path& file) {
  const auto magic = first_bytes(file);
  return std::string_view(magic.data(), magic.size()) == archive::thin_magic;
}

bool is_linked(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<unsigned char, offsetof(Elf64_Ehdr, e_type) + sizeof(Elf64_Half)> header{};
  if (!stream.read(reinterpret_cast<char*>(header.data()), header.size())) return false;
  // ELF32 and ELF64 have it in the same place.
  const bool big = header[EI_DATA] == ELFDATA2MSB;
  const unsigned high = header[header.size() - (big ? 2 : 1)], low = header[header.size() - (big ? 1 : 2)];
  const unsigned type = high << 8U | low;
  return type == ET_EXEC || type == ET_DYN;
}

}  // namespace sframe_gen::convert
