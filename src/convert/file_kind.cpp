#include "convert/file_kind.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "archive/archive.hpp"
#include "archive/format.hpp"
#include "support/endian.hpp"

namespace sframe_gen::convert {

namespace {

/// Zeros where the file has fewer, or cannot be read. A stream would read 8 KB, and take some of its own.
template <std::size_t Size>
std::array<char, Size> first_bytes(const std::filesystem::path& file) {
  std::array<char, Size> bytes{};
  std::error_code ignored;
  // Reading from a FIFO would take bytes out of it.
  if (!std::filesystem::is_regular_file(file, ignored)) return bytes;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return bytes;
  while (::pread(descriptor, bytes.data(), bytes.size(), 0) < 0 && errno == EINTR) {
  }
  ::close(descriptor);
  return bytes;
}

std::array<char, archive::regular_magic.size()> magic_of(const std::filesystem::path& file) {
  return first_bytes<archive::regular_magic.size()>(file);
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  const auto magic = magic_of(file);
  if (std::string_view(magic.data(), SELFMAG) == std::string_view(ELFMAG, SELFMAG)) return FileKind::Elf;
  return archive::is_archive(std::as_bytes(std::span(magic))) ? FileKind::Archive : FileKind::Other;
}

bool is_thin_archive(const std::filesystem::path& file) {
  const auto magic = magic_of(file);
  return std::string_view(magic.data(), magic.size()) == archive::thin_magic;
}

bool is_linked(const std::filesystem::path& file) {
  // ELF32 and ELF64 have it in the same place.
  const auto header = first_bytes<offsetof(Elf64_Ehdr, e_type) + sizeof(Elf64_Half)>(file);
  const Endian endian = header[EI_DATA] == ELFDATA2MSB ? Endian::Big : Endian::Little;
  const auto type = load<Elf64_Half>(std::as_bytes(std::span(header)).subspan(offsetof(Elf64_Ehdr, e_type)), endian);
  return type == ET_EXEC || type == ET_DYN;
}

}  // namespace sframe_gen::convert
