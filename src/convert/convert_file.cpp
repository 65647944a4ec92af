#include "convert/convert_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "archive/archive.hpp"
#include "convert/convert_archive.hpp"
#include "convert/convert_linked.hpp"
#include "convert/convert_object.hpp"
#include "elf/kernel_image.hpp"
#include "elf/undo/undo.hpp"
#include "elf/write/rewrite.hpp"
#include "sframe_gen/convert.hpp"
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
FirstBytes<Size> first_bytes(const std::filesystem::path& file) {
  FirstBytes<Size> first;
  std::error_code ignored;
  // Reading from a FIFO would take bytes out of it.
  if (!std::filesystem::is_regular_file(file, ignored)) return first;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) return first;
  ssize_t count = 0;
  do count = ::pread(opened.number(), first.bytes.data(), Size, 0);
  while (count < 0 && errno == EINTR);
  if (count > 0) first.count = static_cast<std::size_t>(count);
  return first;
}

std::array<char, archive::regular_magic.size()> magic_of(const std::filesystem::path& file) {
  return first_bytes<archive::regular_magic.size()>(file).bytes;
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
  const auto header = first_bytes<sizeof(Elf64_Ehdr)>(file);
  const bool is_narrow = header.bytes[EI_CLASS] == ELFCLASS32;
  if (header.count < (is_narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr))) return false;
  const Endian endian = header.bytes[EI_DATA] == ELFDATA2MSB ? Endian::Big : Endian::Little;
  // ELF32 and ELF64 have it in the same place.
  static_assert(offsetof(Elf32_Ehdr, e_type) == offsetof(Elf64_Ehdr, e_type));
  const auto type =
      load<Elf64_Half>(std::as_bytes(std::span(header.bytes)).subspan(offsetof(Elf64_Ehdr, e_type)), endian);
  return type == ET_EXEC || type == ET_DYN;
}

}  // namespace sframe_gen::convert

namespace sframe_gen {

Outcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                     const ConvertOptions& options, const Observer& observer) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    return convert::convert_archive(input, output, options, observer);
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) return convert::convert_object_file(image, output, options);
  if (elf::is_kernel(image)) return convert::convert_kernel(image, output, options, observer);
  return convert::convert_linked(image, output, options, observer);
}

namespace {

/// A file may have both sections; the one added last has to go first.
const elf::NewSection& last_added(const elf::Image& image) {
  const bool ctf_frame = !image.sections().empty() && image.sections().back().name == elf::ctf_frame_section.undo_name;
  return ctf_frame ? elf::ctf_frame_section : elf::sframe_section;
}

}  // namespace

Removed remove_section(const std::filesystem::path& input, const std::filesystem::path& output, bool dry_run) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    throw Refused(input.string(), "is an archive: --remove is for linked files only");
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) throw Refused(image.name(), "is a relocatable object, which keeps no way back; make it anew");
  const elf::NewSection& added = last_added(image);
  return {std::string(added.name), image.file_bytes().size(),
          dry_run ? elf::original_size(image, added) : elf::write_original(image, added, output)};
}

}  // namespace sframe_gen
