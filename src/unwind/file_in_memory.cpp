#include "unwind/file_in_memory.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>

#include "unwind/stack_memory.hpp"

// glibc has it since 2.35; it takes no lock.
// NOLINTNEXTLINE(readability-redundant-declaration): it may be missing at run time
extern "C" int _dl_find_object(void*, struct dl_find_object*) __attribute__((weak));

namespace sframe_gen::unwind {
namespace {

constexpr std::uint32_t gnu_sframe_segment = 0x6474e554;  // PT_GNU_SFRAME
constexpr std::uint64_t first_page = 4096;                ///< bytes, however large pages are

/// What the C library says of the file that holds `pc`, with the names that dl_find_object has for it.
#ifdef DLFO_STRUCT_HAS_EH_DBASE
using LoaderAnswer = dl_find_object;
/// False: it knows none, or cannot tell.
bool find_object(std::uint64_t pc, LoaderAnswer& found) {
  return _dl_find_object != nullptr && _dl_find_object(pointer_to(pc), &found) == 0;
}
#else
struct LoaderAnswer {
  const struct link_map* dlfo_link_map;
  const void* dlfo_eh_frame;
  const void *dlfo_map_start, *dlfo_map_end;
};
bool find_object(std::uint64_t, LoaderAnswer&) {
  return false;
}
#endif

std::uint64_t begin_of(const LoaderAnswer& found) {
  return reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
}
std::uint64_t end_of(const LoaderAnswer& found) {
  return reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
}

bool can_find_objects() {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  return _dl_find_object != nullptr;
#else
  return false;
#endif
}

/// One multiplication a word (as in FNV), without what is left of the last one.
std::uint64_t digest_of(std::uint64_t address, std::uint64_t size) {
  std::uint64_t digest = 1;
  for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t), address += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, pointer_to(address), sizeof word);
    digest = (digest ^ word) * 0x9e3779b97f4a7c15U;
    digest ^= digest >> 32U;
  }
  return digest;
}

bool is_elf_header(const ElfW(Ehdr) & header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr)) &&
         header.e_phoff % alignof(ElfW(Phdr)) == 0 && header.e_phoff <= first_page &&
         header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) <= first_page;
}

/// The segment's bytes are those from the start of the file.
void read_first_page(const ElfW(Phdr) & segment, std::uint64_t bias, LoadedFileIdentity& identity) {
  const std::uint64_t address = bias + segment.p_vaddr;
  const bool readable = (segment.p_flags & PF_R) != 0 && segment.p_filesz >= sizeof(ElfW(Ehdr));
  if (!readable || address % alignof(ElfW(Ehdr)) != 0) return;
  const auto& header = *static_cast<const ElfW(Ehdr)*>(pointer_to(address));
  if (!is_elf_header(header)) return;
  const std::uint64_t headers_end = header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr));
  if (headers_end > segment.p_filesz) return;
  identity.header = address;
  identity.headers_size = static_cast<std::uint32_t>(headers_end);
}

/// A note's name and descriptor are padded to 4 bytes each (gABI, chapter 5).
void find_build_id(const ElfW(Phdr) & notes, std::uint64_t bias, LoadedFileIdentity& identity) {
  std::uint64_t at = bias + notes.p_vaddr;
  std::uint64_t left = notes.p_filesz;
  while (left >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, pointer_to(at), sizeof note);
    const std::uint64_t name_size = (std::uint64_t{note.n_namesz} + 3) / 4 * 4;
    const std::uint64_t size = sizeof note + name_size + (std::uint64_t{note.n_descsz} + 3) / 4 * 4;
    if (size > left) return;
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(pointer_to(at + sizeof note), ELF_NOTE_GNU, 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= 8) {
      identity.build_id = at + sizeof note + name_size;
      identity.build_id_size = note.n_descsz;
      return;
    }
    at += size;
    left -= size;
  }
}

bool is_in_memory(std::span<const ElfW(Phdr)> segments, const ElfW(Phdr) & part) {
  for (const ElfW(Phdr) & load : segments) {
    const std::uint64_t from = part.p_vaddr - load.p_vaddr;
    const bool readable = load.p_type == PT_LOAD && (load.p_flags & PF_R) != 0;
    if (readable && from < load.p_filesz && part.p_filesz <= load.p_filesz - from) return true;
  }
  return false;
}

/// Whether the C library knows what holds `pc`, and says of it what it said of the file. It does not know a file that
/// a dlopen() is still loading: its resolvers of indirect functions run before. Where that file is listed and `pc` is
/// in the resolver of a later one, what was remembered of the first may be mapped no longer. The C library always knows
/// the program, the vDSO and itself, also in a program that is linked statically.
bool is_found_as(const LoadedFileIdentity& identity, std::uint64_t pc) {
  LoaderAnswer found;  // Not cleared: that would take a quarter of this function's time.
  if (!find_object(pc, found)) return false;
  return found.dlfo_link_map == identity.link_map && found.dlfo_eh_frame == identity.eh_frame &&
         begin_of(found) == identity.map_begin && end_of(found) == identity.map_end;
}

}  // namespace

FileInMemory describe(std::span<const ElfW(Phdr)> segments, std::uint64_t bias) {
  FileInMemory file;
  file.begin = ~std::uint64_t{0};
  for (const ElfW(Phdr) & segment : segments) {
    const bool is_sframe = segment.p_type == gnu_sframe_segment && segment.p_memsz <= segment.p_filesz;
    if (is_sframe && is_in_memory(segments, segment)) file.sframe = &segment;
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = bias + segment.p_vaddr;
    if (begin < file.begin) file.begin = begin;
    if (begin + segment.p_memsz > file.end) file.end = begin + segment.p_memsz;
    if (segment.p_offset == 0) read_first_page(segment, bias, file.identity);
  }
  for (const ElfW(Phdr) & segment : segments) {
    // Those that are padded to 8 bytes are properties.
    const bool may_have_build_id = segment.p_type == PT_NOTE && segment.p_align < 8 && file.identity.build_id_size == 0;
    if (may_have_build_id && is_in_memory(segments, segment)) find_build_id(segment, bias, file.identity);
  }
  LoaderAnswer found;
  if (find_object(file.begin, found)) {
    file.identity.link_map = found.dlfo_link_map;
    file.identity.eh_frame = found.dlfo_eh_frame;
    file.identity.map_begin = begin_of(found);
    file.identity.map_end = end_of(found);
  }
  // The first page is there whatever file was mapped. A build-id beyond it is read only if the headers did not change.
  const bool in_first_page = file.identity.build_id - file.identity.header + file.identity.build_id_size <= first_page;
  if (in_first_page) file.identity.headers_size = 0;
  file.identity.digest_of_headers = digest_of(file.identity.header, file.identity.headers_size);
  file.identity.digest_of_build_id = digest_of(file.identity.build_id, file.identity.build_id_size);
  return file;
}

bool was_being_loaded(const LoadedFileIdentity& identity) {
  return can_find_objects() && identity.link_map == nullptr;
}

bool is_same_file(const LoadedFileIdentity& identity, std::uint64_t pc) {
  const bool is_telling = identity.header != 0 && identity.build_id_size != 0;
  // Then it is taken to be there still: musl unloads nothing, and older versions of glibc cannot be asked.
  if (!is_telling) return !can_find_objects();
  if (can_find_objects()) {
    if (!is_found_as(identity, pc)) return false;
  } else if (!is_readable(identity.header)) {
    return false;
  }
  return digest_of(identity.header, identity.headers_size) == identity.digest_of_headers &&
         digest_of(identity.build_id, identity.build_id_size) == identity.digest_of_build_id;
}

ProgramHeaders program_headers_at(std::uint64_t pc) {
  LoaderAnswer found;
  if (!find_object(pc, found)) return {};
  const std::uint64_t begin = begin_of(found);
  if (found.dlfo_link_map == nullptr || end_of(found) - begin < first_page || !is_readable(begin)) return {};
  const auto& header = *static_cast<const ElfW(Ehdr)*>(pointer_to(begin));
  if (!is_elf_header(header)) return {};
  const auto* const segments = static_cast<const ElfW(Phdr)*>(pointer_to(begin + header.e_phoff));
  return {{segments, header.e_phnum}, found.dlfo_link_map->l_addr};
}

}  // namespace sframe_gen::unwind
