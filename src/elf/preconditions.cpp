#include "elf/preconditions.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "elf/alignment.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/header_check.hpp"
#include "elf/machine.hpp"
#include "elf/module_signature.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_kind(const Image& image) {
  const Elf64_Ehdr& header = image.header();
  machine_of(image);
  if (header.e_type == ET_EXEC || header.e_type == ET_DYN) return;
  if (header.e_type == ET_REL) throw Refused(image.name(), "is a relocatable object, not a program or library");
  if (header.e_type == ET_CORE) throw Refused(image.name(), "is a core file, not a program or library");
  throw Refused(image.name(), "is an ELF file of type " + hex(header.e_type) + ", not a program or library");
}

/// UPX writes its l_info header, with this marker, right behind the program header table.
void check_not_packed(const Image& image) {
  const auto start = image.file_bytes().first(std::min<std::size_t>(image.file_bytes().size(), 4096));
  if (!image.has_section_headers() && text_of(start).find("UPX!") != std::string_view::npos)
    throw Refused(image.name(), "is packed by UPX; unpack it first (upx -d)");
}

}  // namespace

std::uint64_t described_end(const Image& image) {
  std::uint64_t end = image.section_table().end;
  for (const Elf64_Phdr& segment : image.segments())
    if (has_file_bytes(segment)) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  for (const Section& section : image.sections())
    if (!image.bytes_of(section).empty())
      end = std::max<std::uint64_t>(end, section.header.sh_offset + section.header.sh_size);
  return end;
}

/// The kernel's marker stands behind modules, and behind kernels that are signed alike.
void check_not_signed(const Image& image) {
  if (has_module_signature(image)) {
    throw Refused(image.name(), image.is_object()
                                    ? "is a signed kernel module, and a change would break the signature "
                                      "(--drop-signature takes it away)"
                                    : "is a signed kernel module, and a change would break the signature");
  }
  // libgcrypt's own HMAC, for FIPS mode; bsign; elfsign.
  constexpr std::array<std::string_view, 3> names{".note.fdo.integrity", "signature", ".SUNW_signature"};
  for (const Section& section : image.sections()) {
    if (std::find(names.begin(), names.end(), section.name) != names.end())
      throw Refused(image.name(), "is signed (section " + section.name + "), and a change would break the signature");
  }
}

namespace {

/// The kernel maps it from its own image: in a file, there are only copies, which nobody loads.
void check_not_vdso(const Image& image) {
  if (soname_of(image, read_dynamic(image)).starts_with("linux-vdso"))
    throw Refused(image.name(), "is a vDSO, which the kernel builds into itself");
}

void check_not_prelinked(const Image& image) {
  if (image.find_section(".gnu.prelink_undo") != nullptr ||
      find_dynamic(read_dynamic(image), DT_GNU_PRELINKED).has_value())
    throw Refused(image.name(), "is prelinked; undo that first (prelink -u)");
}

/// Bytes that no header describes are refused beyond this even where they are zeros: they may be a hole of a sparse
/// file, and take memory as soon as they are looked at.
constexpr std::uint64_t most_undescribed = 32U << 20U;

}  // namespace

/// AppImages, installers and self-extracting programs append data that they find by its place in the file.
void check_nothing_appended(const Image& image) {
  const std::uint64_t end = described_end(image);
  const auto rest = image.file_bytes().subspan(end);
  const bool is_padding =
      rest.size() <= most_undescribed && std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; });
  if (is_padding) return;
  throw Refused(image.name(),
                "has " + hex(rest.size()) + " bytes appended at " + hex(end) + " that no header describes");
}

namespace {

/// The section header table and the names move up behind the contents. What stood before them is kept for --remove, be
/// it a hole in a sparse file.
void check_no_gap_before_section_headers(const Image& image) {
  std::uint64_t end = sizeof(Elf64_Ehdr);
  for (const Elf64_Phdr& segment : image.segments())
    if (has_file_bytes(segment)) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  const FileRange table = image.section_table();
  std::uint64_t moved = table.end - table.begin;
  for (const Section& section : image.sections()) {
    const std::uint64_t size = image.bytes_of(section).size();
    if (section.index == image.section_name_table_index()) {
      moved += size;
    } else if (size != 0) {
      end = std::max<std::uint64_t>(end, section.header.sh_offset + size);
    }
  }
  const std::uint64_t rest = image.file_bytes().size() - std::min<std::uint64_t>(image.file_bytes().size(), end);
  if (rest > moved && rest - moved > most_undescribed)
    throw Refused(image.name(), "has " + hex(rest - moved) + " bytes behind " + hex(end) + " that no header describes");
}

bool is_loader_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> prefixes{"ld-", "ld.so", "ld64.so", "libc.musl"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

}  // namespace

void check_preconditions(const Image& image) {
  check_not_signed(image);
  check_kind(image);
  check_not_packed(image);
  check_headers(image);
  check_not_vdso(image);
  check_not_prelinked(image);
  check_nothing_appended(image);
  check_no_gap_before_section_headers(image);
}

bool is_dynamic_loader(const Image& image) {
  if (image.header().e_type != ET_DYN || image.find_segment(PT_INTERP) != nullptr) return false;
  const std::string soname = soname_of(image, read_dynamic(image));
  const std::string file = std::filesystem::path(image.name()).filename().string();
  // musl's loader is its C library; its own build gives it the plain name.
  const bool musl = (file == "libc.so" || soname == "libc.so") && image.header().e_entry != 0;
  return musl || is_loader_name(soname) || is_loader_name(file);
}

}  // namespace sframe_gen::elf
