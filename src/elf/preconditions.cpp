#include "elf/preconditions.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "elf/dynamic_table.hpp"
#include "elf/headerless.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

std::string_view characters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Refuses separate debug files, none of whose code has bytes. A program may have some such memory, for code that it
/// makes as it runs.
void check_code_has_bytes(const Image& image) {
  const Section* without = nullptr;
  for (const Section& section : image.sections()) {
    constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    if ((section.header.sh_flags & code) != code || section.header.sh_size == 0) continue;
    if (section.header.sh_type != SHT_NOBITS) return;
    if (without == nullptr) without = &section;
  }
  if (without != nullptr)
    throw Refused(image.name(), "separate debug file: " + describe(*without) +
                                    " has no bytes (convert the program instead; --cfi-from can read this file)");
}

/// UPX writes its l_info header, with this marker, right after the program header table.
void check_not_packed(const Image& image) {
  const auto start = image.file_bytes().first(std::min<std::size_t>(image.file_bytes().size(), 4096));
  if (characters_of(start).find("UPX!") != std::string_view::npos)
    throw Refused(image.name(), "packed by UPX; unpack it first (upx -d)");
}

void check_section_headers(const Image& image) {
  if (!image.has_section_headers()) {
    check_not_packed(image);
    // The sections that stand in for them fit in the file. They lack .eh_frame if PT_GNU_EH_FRAME is damaged.
    if (image.find_section(".eh_frame") == nullptr) find_eh_frame(image);  // throws
    return;
  }
  if (image.section_name_table_index() == SHN_UNDEF) throw Refused(image.name(), "no section names");
  const Elf64_Shdr& names = image.sections()[image.section_name_table_index()].header;
  if ((names.sh_flags & SHF_ALLOC) != 0) throw Refused(image.name(), "section names in memory");
  // Indices from SHN_LORESERVE on need extended numbering, which no linked file has been seen to use.
  if (image.sections().size() + 2 >= SHN_LORESERVE) {
    throw Refused(image.name(),
                  count_of(image.sections().size(), "section header") + ", more than 65277 are not supported");
  }
  for (const Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    const auto origin = [&] { return InputOrigin{image.name(), describe(section)}; };
    if (header.sh_offset > largest_number || header.sh_size > largest_number)
      throw MalformedInput(
          origin(), 0, "file offset " + hex(header.sh_offset) + " or size " + hex(header.sh_size) + " is impossible");
    if (!is_power_of_two_or_zero(header.sh_addralign) || header.sh_addralign > largest_number)
      throw MalformedInput(origin(), 0, "alignment " + hex(header.sh_addralign) + " is not a power of two");
    if ((header.sh_flags & SHF_ALLOC) != 0 && header.sh_addr > largest_number)
      throw Refused(image.name(), describe(section) + " is at " + hex(header.sh_addr) + ", outside user space");
    image.bytes_of(section);  // throws when outside the file
  }
  check_code_has_bytes(image);
}

bool is_in_file(const Image& image, const Elf64_Phdr& segment) {
  const std::uint64_t size = image.file_bytes().size();
  return segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset;
}

void check_segment(const Image& image, std::size_t index) {
  const Elf64_Phdr& segment = image.segments()[index];
  if (segment.p_type == PT_NULL) return;
  const auto name = [&] { return "program header " + std::to_string(index); };
  const auto origin = [&] { return InputOrigin{image.name(), name()}; };
  if (segment.p_vaddr > largest_number && segment.p_type == PT_LOAD)
    throw Refused(image.name(), name() + " is at " + hex(segment.p_vaddr) + ", outside user space");
  if (segment.p_vaddr > largest_number || segment.p_memsz > largest_number || segment.p_align > largest_number)
    throw MalformedInput(origin(), 0,
                         "address " + hex(segment.p_vaddr) + ", size " + hex(segment.p_memsz) + " or alignment " +
                             hex(segment.p_align) + " is impossible");
  if (!is_power_of_two_or_zero(segment.p_align))
    throw MalformedInput(origin(), offsetof(Elf64_Phdr, p_align),
                         "alignment " + hex(segment.p_align) + " is not a power of two");
  if (has_file_bytes(segment) && !is_in_file(image, segment))
    image.slice(segment.p_offset, segment.p_filesz, name().c_str());  // throws
  if (segment.p_offset > largest_number || segment.p_filesz > largest_number)
    throw MalformedInput(
        origin(), offsetof(Elf64_Phdr, p_offset),
        "file offset " + hex(segment.p_offset) + " or size " + hex(segment.p_filesz) + " is impossible");
  if (segment.p_type != PT_LOAD) return;
  if (segment.p_filesz > segment.p_memsz)
    throw MalformedInput(origin(), offsetof(Elf64_Phdr, p_filesz),
                         "file size " + hex(segment.p_filesz) + " is larger than memory size " + hex(segment.p_memsz));
  const std::uint64_t alignment = std::max<std::uint64_t>(segment.p_align, 1);
  if ((segment.p_vaddr - segment.p_offset) % alignment != 0)
    throw MalformedInput(origin(), offsetof(Elf64_Phdr, p_vaddr),
                         "address " + hex(segment.p_vaddr) + " and file offset " + hex(segment.p_offset) +
                             " differ modulo the alignment " + hex(segment.p_align));
}

/// What is loaded is where a PT_LOAD puts its bytes. If a section header has another address, stubs in these bytes
/// would get rows at that address, and .eh_frame would describe other code.
void check_addresses_of_sections(const Image& image) {
  for (const Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    if ((header.sh_flags & SHF_ALLOC) == 0 || image.bytes_of(section).empty()) continue;
    const Range addresses{header.sh_addr, header.sh_addr + header.sh_size};
    bool is_loaded = false, is_in_memory = false;
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD) continue;
      is_loaded = is_loaded || holds_section(segment, header);
      is_in_memory = is_in_memory || addresses.overlaps({segment.p_vaddr, segment.p_vaddr + segment.p_memsz});
    }
    if (is_in_memory && !is_loaded)
      throw MalformedInput({image.name(), describe(section)}, 0,
                           "address " + hex(header.sh_addr) +
                               " is not where a PT_LOAD loads its bytes, which are at file offset " +
                               hex(header.sh_offset));
  }
}

/// BOLT and patchelf move the program headers into a segment of their own. They stay there, and have to be in memory.
void check_moved_table(const Image& image) {
  const std::uint64_t begin = image.header().e_phoff;
  if (begin == sizeof(Elf64_Ehdr)) return;
  const std::uint64_t size = image.segments().size() * sizeof(Elf64_Phdr);
  const bool loaded = std::any_of(image.segments().begin(), image.segments().end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && begin >= segment.p_offset && begin - segment.p_offset <= segment.p_filesz &&
           size <= segment.p_filesz - (begin - segment.p_offset);
  });
  if (begin < sizeof(Elf64_Ehdr) || !loaded)
    throw Refused(image.name(), "program headers at file offset " + hex(begin) + ", where no PT_LOAD loads them");
  const Elf64_Phdr* const table = image.find_segment(PT_PHDR);
  if (table != nullptr && table->p_offset != begin)
    throw MalformedInput({image.name(), "PT_PHDR"}, offsetof(Elf64_Phdr, p_offset),
                         "file offset " + hex(table->p_offset) + " is not the program headers' " + hex(begin));
}

void check_segments(const Image& image) {
  const Elf64_Phdr* previous = nullptr;
  // One page is what kernels before 4.20 and gVisor read.
  if (image.segments().size() * sizeof(Elf64_Phdr) > 4096)
    throw Refused(image.name(), count_of(image.segments().size(), "program header") + ", which exceed one page");
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    check_segment(image, i);
    const Elf64_Phdr& segment = image.segments()[i];
    if (segment.p_type != PT_LOAD) continue;
    if (previous != nullptr && segment.p_vaddr < previous->p_vaddr + previous->p_memsz)
      throw Refused(image.name(), "PT_LOAD program headers that overlap or are not sorted by address");
    previous = &segment;
  }
  if (previous == nullptr) throw Refused(image.name(), "no PT_LOAD program header");
  check_moved_table(image);
}

/// Pointers in it are changed, so it has to be what its section says it is.
void check_dynamic_table(const Image& image) {
  const Elf64_Phdr* segment = image.find_segment(PT_DYNAMIC);
  if (segment == nullptr) return;
  for (const Section& section : image.sections()) {
    if (section.header.sh_type != SHT_DYNAMIC || section.header.sh_offset == segment->p_offset) continue;
    throw MalformedInput({image.name(), "PT_DYNAMIC"}, 0,
                         "file offset " + hex(segment->p_offset) + " is not that of " + describe(section) + " (" +
                             hex(section.header.sh_offset) + ")");
  }
}

/// Tables of section indices are rewritten by their type, which must not be that of code or data.
void check_index_tables(const Image& image) {
  const auto symbols = find_dynamic(read_dynamic(image), DT_SYMTAB);
  for (const Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    if ((header.sh_flags & SHF_ALLOC) == 0) continue;
    const auto origin = [&] { return InputOrigin{image.name(), describe(section)}; };
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_SYMTAB_SHNDX || header.sh_type == SHT_GROUP)
      throw MalformedInput(origin(), 0,
                           "is loaded, but its type " + hex(header.sh_type) + " is not for loaded sections");
    if (header.sh_type == SHT_DYNSYM && symbols && *symbols != header.sh_addr)
      throw MalformedInput(origin(), 0, "address " + hex(header.sh_addr) + " is not DT_SYMTAB's " + hex(*symbols));
  }
}

void check_kind(const Image& image) {
  const Elf64_Ehdr& header = image.header();
  machine_of(image);
  if (header.e_type == ET_EXEC || header.e_type == ET_DYN) return;
  if (header.e_type == ET_REL) throw Refused(image.name(), "relocatable object, not a program or library");
  if (header.e_type == ET_CORE) throw Refused(image.name(), "core file, not a program or library");
  throw Refused(image.name(), "ELF file of type " + hex(header.e_type) + ", not a program or library");
}

/// The kernel maps it from its own image: in a file, there are only copies, which are never loaded.
void check_not_vdso(const Image& image) {
  if (soname_of(image, read_dynamic(image)).starts_with("linux-vdso"))
    throw Refused(image.name(), "vDSO, which the kernel builds into itself");
}

void check_not_prelinked(const Image& image) {
  if (image.find_section(".gnu.prelink_undo") != nullptr ||
      find_dynamic(read_dynamic(image), DT_GNU_PRELINKED).has_value())
    throw Refused(image.name(), "prelinked; undo that first (prelink -u)");
}

/// The section header table and the names move up after the contents. What stood before them is kept for --remove, be
/// it a hole in a sparse file.
void check_no_gap_before_section_headers(const Image& image) {
  std::uint64_t end = sizeof(Elf64_Ehdr);
  for (const Elf64_Phdr& segment : image.segments())
    if (has_file_bytes(segment)) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  const Range table = image.section_table();
  std::uint64_t moved = table.size();
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
    throw Refused(image.name(), count_of(rest - moved, "byte") + " after " + hex(end) + " that no header describes");
}

bool is_loader_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> prefixes{"ld-", "ld.so", "ld64.so", "libc.musl"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

}  // namespace

void check_no_overlap(const Image& image) {
  struct Claimed {
    Range range;
    Owner owner;
  };
  std::vector<Claimed> all{{{0, sizeof(Elf64_Ehdr)}, "the ELF header"},
                           {image.segment_table(), "the program headers"},
                           {image.section_table(), "the section headers"}};
  for (const Section& section : image.sections())
    if (!image.bytes_of(section).empty()) all.push_back({file_range(section.header), &section});
  std::erase_if(all, [](const Claimed& claimed) { return claimed.range.empty(); });
  std::ranges::sort(all, {}, [](const Claimed& claimed) { return claimed.range.begin; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].range.begin < all[i - 1].range.end)
      throw MalformedInput({image.name(), "file"}, all[i].range.begin,
                           describe(all[i - 1].owner) + " and " + describe(all[i].owner) + " overlap");
  }
}

bool has_file_bytes(const Elf64_Phdr& segment) {
  return segment.p_type != PT_NULL && segment.p_type != PT_GNU_RELRO && segment.p_filesz != 0;
}

void check_headers(const Image& image) {
  check_section_headers(image);
  check_segments(image);
  check_no_overlap(image);
  check_addresses_of_sections(image);
  check_dynamic_table(image);
  check_index_tables(image);
}

std::uint64_t described_end(const Image& image) {
  std::uint64_t end = image.section_table().end;
  for (const Elf64_Phdr& segment : image.segments())
    if (has_file_bytes(segment)) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  for (const Section& section : image.sections())
    if (!image.bytes_of(section).empty())
      end = std::max<std::uint64_t>(end, section.header.sh_offset + section.header.sh_size);
  return end;
}

/// The kernel's marker follows modules, and kernels that are signed alike.
void check_not_signed(const Image& image) {
  if (has_module_signature(image)) {
    throw Refused(image.name(), image.is_object() ? "signed kernel module, and a change would break the signature "
                                                    "(--drop-signature removes it)"
                                                  : "signed kernel module, and a change would break the signature");
  }
  // libgcrypt's own HMAC, for FIPS mode; bsign; elfsign.
  constexpr std::array<std::string_view, 3> names{".note.fdo.integrity", "signature", ".SUNW_signature"};
  for (const Section& section : image.sections()) {
    if (std::find(names.begin(), names.end(), section.name) != names.end())
      throw Refused(image.name(), "signed (section " + section.name + "), and a change would break the signature");
  }
}

/// AppImages, installers and self-extracting programs append data that they find by its place in the file.
void check_nothing_appended(const Image& image) {
  const std::uint64_t end = described_end(image);
  const auto rest = image.file_bytes().subspan(end);
  const bool is_padding =
      rest.size() <= most_undescribed && std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; });
  if (is_padding) return;
  throw Refused(image.name(), count_of(rest.size(), "byte") + " appended at " + hex(end) +
                                  " that no header describes (convert before data is appended)");
}

void check_preconditions(const Image& image) {
  check_not_signed(image);
  check_kind(image);
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
