#include "convert/file_kind.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "elf/image.hpp"
#include "files/archive/archive.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::convert {

namespace {

template <std::size_t Size>
struct FirstBytes {
  std::array<char, Size> bytes{};  ///< zeros where the file has fewer
  std::size_t count = 0;           ///< how many it has; 0: it cannot be read, too
};

/// A stream would read 8 KB, and take some of its own.
template <std::size_t Size>
FirstBytes<Size> first_bytes(const std::filesystem::path& file, std::error_code& error) {
  FirstBytes<Size> first;
  // Reading from a FIFO would take bytes out of it.
  if (!std::filesystem::is_regular_file(file, error)) return first;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) {
    error.assign(errno, std::system_category());
    return first;
  }
  ssize_t count = 0;
  do count = ::pread(opened.number(), first.bytes.data(), Size, 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) error.assign(errno, std::system_category());
  if (count > 0) first.count = static_cast<std::size_t>(count);
  return first;
}

std::array<char, files::archive::regular_magic.size()> magic_of(const std::filesystem::path& file,
                                                                std::error_code& error) {
  return first_bytes<files::archive::regular_magic.size()>(file, error).bytes;
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  std::error_code ignored;
  return kind_of(file, ignored);
}

FileKind kind_of(const std::filesystem::path& file, std::error_code& error) {
  const auto magic = magic_of(file, error);
  if (std::string_view(magic.data(), SELFMAG) == std::string_view(ELFMAG, SELFMAG)) return FileKind::Elf;
  return files::archive::is_archive(std::as_bytes(std::span(magic))) ? FileKind::Archive : FileKind::Other;
}

bool is_thin_archive(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto magic = magic_of(file, ignored);
  return std::string_view(magic.data(), magic.size()) == files::archive::thin_magic;
}

std::optional<std::uint16_t> type_of(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto header = first_bytes<sizeof(Elf64_Ehdr)>(file, ignored);
  const bool is_narrow = header.bytes[EI_CLASS] == ELFCLASS32;
  if (header.count < (is_narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr))) return {};
  const Endian endian = header.bytes[EI_DATA] == ELFDATA2MSB ? Endian::Big : Endian::Little;
  // ELF32 and ELF64 have it in the same place.
  static_assert(offsetof(Elf32_Ehdr, e_type) == offsetof(Elf64_Ehdr, e_type));
  return load<Elf64_Half>(std::as_bytes(std::span(header.bytes)).subspan(offsetof(Elf64_Ehdr, e_type)), endian);
}

bool is_kernel_module(const std::filesystem::path& file) try {
  const elf::Image image = elf::Image::open(file);
  return image.is_object() && image.find_section(".modinfo") != nullptr;
} catch (const Failure&) {
  return false;
}

}  // namespace sframe_gen::convert
