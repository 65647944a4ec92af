#include "elf/kernel_files.hpp"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// As every version of the format starts with (SFrame V3, section 2.1.1).
constexpr std::uint16_t section_magic = 0xdee2;

bool has_loaded(const Image& image, std::string_view name, std::uint64_t flags = SHF_ALLOC) {
  const Section* const section = image.find_section(name);
  return section != nullptr && (section->header.sh_flags & flags) == flags && section->header.sh_size != 0;
}

bool is_loaded_from_file(const Image& image, const Elf64_Shdr& section) {
  return std::ranges::any_of(image.segments(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && holds_section(segment, section);
  });
}

bool is_filler_or_section(std::span<const std::byte> bytes, Endian endian) {
  if (bytes.size() >= sizeof section_magic && load<std::uint16_t>(bytes, endian) == section_magic) return true;
  return std::ranges::adjacent_find(bytes, std::ranges::not_equal_to()) == bytes.end();
}

/// Empty: none.
std::string why_not_filling(const Image& kernel, const Section& section, const NewSection& wanted) {
  const Elf64_Shdr& header = section.header;
  if ((header.sh_flags & SHF_ALLOC) == 0) return "is not loaded";
  if (header.sh_type != SHT_PROGBITS && header.sh_type != wanted.type) return "has no bytes in the file";
  if ((header.sh_flags & SHF_COMPRESSED) != 0) return "is compressed";
  if (header.sh_addr % wanted.alignment != 0) return "is not aligned to " + std::to_string(wanted.alignment) + " bytes";
  if (!is_loaded_from_file(kernel, header)) return "is not loaded from the file";
  if (!is_filler_or_section(kernel.bytes_of(section), kernel.endian()))
    return "holds something else than free space or an older section";
  if (has_relocations(kernel, section)) return "has relocations of its own (ld --emit-relocs)";
  return {};
}

}  // namespace

bool has_relocations(const Image& image, const Section& section) {
  return std::ranges::any_of(image.sections(), [&](const Section& other) {
    return (other.header.sh_type == SHT_RELA || other.header.sh_type == SHT_REL) &&
           other.header.sh_info == section.index && other.header.sh_size != 0;
  });
}

bool is_kernel(const Image& image) {
  if (image.header().e_type != ET_EXEC && image.header().e_type != ET_DYN) return false;
  for (const auto type : {std::uint32_t{PT_INTERP}, std::uint32_t{PT_DYNAMIC}, std::uint32_t{PT_TLS}})
    if (image.find_segment(type) != nullptr) return false;
  constexpr std::array<std::string_view, 3> tables{"__param", "__ksymtab", "__ksymtab_gpl"};
  return has_loaded(image, ".init.text", SHF_ALLOC | SHF_EXECINSTR) && has_loaded(image, "__ex_table") &&
         std::ranges::any_of(tables, [&](std::string_view name) { return has_loaded(image, name); });
}

const Section* find_reserved(const Image& kernel, const NewSection& wanted) {
  const Section* found = nullptr;
  for (const Section& section : kernel.sections()) {
    if (section.name != wanted.name) continue;
    if (found != nullptr) throw Refused(kernel.name(), "more than one " + section.name + " section");
    found = &section;
  }
  if (found == nullptr) return nullptr;
  const std::string obstacle = why_not_filling(kernel, *found, wanted);
  if (!obstacle.empty())
    throw Refused(kernel.name(), "Linux kernel whose " + found->name + " section cannot be filled: it " + obstacle);
  return found;
}

namespace {

constexpr std::string_view marker = "~Module signature appended~\n";

/// struct module_signature: algorithm, hash, type, lengths of signer and key identifier, three bytes of padding, and
/// the length of the signature, big-endian. Signatures in PKCS#7, the only kind since Linux 4.3, leave all but type and
/// length 0 (kernel/module_signature.c).
constexpr std::size_t record_size = 12, type_at = 2, length_at = 8;
constexpr std::byte type_pkcs7{2};

/// Length of the signature; without a value: the record is not one.
std::optional<std::uint64_t> signature_length(std::span<const std::byte> record) {
  for (std::size_t i = 0; i < length_at; ++i)
    if (record[i] != (i == type_at ? type_pkcs7 : std::byte{0})) return {};
  return load<std::uint32_t>(record.subspan(length_at), Endian::Big);
}

}  // namespace

bool has_module_signature(const Image& image) {
  const auto bytes = image.file_bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).ends_with(marker);
}

void check_only_signature_appended(const Image& image, std::uint64_t described_end) {
  const auto bytes = image.file_bytes();
  const auto fail = [&](const std::string& why) {
    throw Refused(image.name(), "ends as a signed kernel module does, but " + why);
  };
  const std::uint64_t appended = bytes.size() - described_end;
  const std::uint64_t tail = record_size + marker.size();
  if (appended < tail) fail("its headers describe these bytes as its own");
  const auto length = signature_length(bytes.last(tail).first(record_size));
  if (!length) fail("without a signature that the kernel would take");
  if (*length == 0 || *length > appended - tail)
    fail("with a signature of " + count_of(*length, "byte") + " where " + std::to_string(appended - tail) + " are");
  const auto between = bytes.subspan(described_end, appended - tail - *length);
  if (std::ranges::any_of(between, [](std::byte b) { return b != std::byte{0}; }))
    fail("with " + count_of(between.size(), "byte") +
         " of something else in front of the signature, which would be lost");
}

OwnVdso own_vdso() {
  const std::uint64_t address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  const auto* const begin =
      reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): the kernel's
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  // The section headers come last.
  return {address, {begin, header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum}};
}

}  // namespace sframe_gen::elf
