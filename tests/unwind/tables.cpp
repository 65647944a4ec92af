#include "tables.hpp"

#include <link.h>

#include "sframe_gen/section.hpp"

namespace sframe_gen::unwind {

namespace {

constexpr std::uint32_t gnu_sframe_segment = 0x6474e554;  // PT_GNU_SFRAME

int add_file(dl_phdr_info* info, std::size_t, void* data) {
  auto& files = *static_cast<std::vector<LoadedFile>*>(data);
  LoadedFile& file = files.emplace_back();
  file.name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program";
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const std::uint64_t address = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      file.code.push_back({address, address + segment.p_memsz});
    if (segment.p_type == gnu_sframe_segment) {
      const std::span bytes(reinterpret_cast<const std::byte*>(address), segment.p_memsz);
      file.section = sframe::decode(bytes, address, {file.name, "PT_GNU_SFRAME"});
      file.has_section = true;
    }
  }
  return 0;
}

}  // namespace

Tables::Tables() {
  ::dl_iterate_phdr(add_file, &files_);
}

const LoadedFile* Tables::find(std::uint64_t pc) const {
  for (const LoadedFile& file : files_) {
    for (const LoadedFile::Range& range : file.code) {
      if (range.begin <= pc && pc < range.end) return &file;
    }
  }
  return nullptr;
}

}  // namespace sframe_gen::unwind
