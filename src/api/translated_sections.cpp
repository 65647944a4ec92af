#include "sframe_gen/translated_sections.hpp"

#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "elf/image.hpp"
#include "elf/kernel_files.hpp"
#include "support/mapped_file.hpp"
#include "support/range.hpp"

namespace sframe_gen {

namespace {

const std::byte* memory_at(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): a loaded file's
}

/// Whether a loaded file has all of these addresses. What a file on disk says of them proves nothing.
bool is_loaded(Range addresses) {
  return ::dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void* wanted) {
               const Range& range = *static_cast<const Range*>(wanted);
               return static_cast<int>(
                   std::ranges::any_of(std::span(info->dlpi_phdr, info->dlpi_phnum), [&](const ElfW(Phdr) & segment) {
                     const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
                     return segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 &&
                            Range{begin, begin + segment.p_memsz}.contains(range);
                   }));
             },
             &addresses) != 0;
}

/// A file that was replaced since it was loaded has other rows. What begins it is in memory too, where nothing writes:
/// the build-id is there as a rule, and the program headers with the size of each segment are always.
void check_is_loaded(const elf::Image& image, std::uint64_t bias) {
  constexpr std::uint64_t first_page = 4096;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || segment.p_offset != 0) continue;
    const std::uint64_t size = std::min(segment.p_filesz, first_page);
    const std::uint64_t begin = bias + segment.p_vaddr;
    const bool same = is_loaded({begin, begin + size}) &&
                      std::memcmp(image.slice(0, size, "first page").data(), memory_at(begin), size) == 0;
    if (same && (segment.p_flags & PF_W) == 0) return;
    throw Refused(image.name(), "not the file that was loaded");
  }
  throw Refused(image.name(), "no segment with its ELF header, by which it could be told from another file");
}

}  // namespace

const TranslateOutcome& TranslatedSections::translate_file(const std::string& file, std::uint64_t bias) {
  const elf::OwnVdso vdso = elf::own_vdso();
  const bool is_vdso = vdso.address != 0 && vdso.address == bias;
  std::optional<MappedFile> mapped;
  // Where the starts of functions count from: any place will do, as the view is told.
  constexpr std::uint64_t address = 0;
  if (!is_vdso) {
    mapped.emplace(file);
    check_is_loaded(elf::Image::of_bytes(mapped->bytes(), file), bias);
  }
  const std::span<const std::byte> bytes = is_vdso ? vdso.bytes : mapped->bytes();
  return *sections_.emplace_back(std::make_unique<TranslateOutcome>(translate(bytes, file, address, options_)));
}

int TranslatedSections::provide(void* context, const char* file, std::uint64_t bias, const void** bytes,
                                std::size_t* size, std::uint64_t* address) noexcept {
  auto& sections = *static_cast<TranslatedSections*>(context);
  try {
    // The program itself goes without a name.
    const std::string name = *file != '\0' ? file : "/proc/self/exe";
    try {
      const TranslateOutcome& made = sections.translate_file(name, bias);
      *bytes = made.bytes.data();
      *size = made.bytes.size();
      *address = made.address;
      return 0;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& failure) {
      sections.failed_.push_back({name, failure.what()});
      return ENOENT;
    }
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

}  // namespace sframe_gen
