#include "tables.hpp"

#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "sframe_gen/section.hpp"

namespace sframe_gen::unwind {

namespace {

constexpr std::uint32_t gnu_sframe_segment = 0x6474e554;  // PT_GNU_SFRAME

void open_section(LoadedFile& file, std::uint64_t address, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(address), size);
  file.section = sframe::decode(bytes, address, {file.name, "PT_GNU_SFRAME"});
  file.has_section = true;
  const sframe::ViewFault fault = file.view.open(bytes, address);
  if (!fault) return;
  std::fprintf(stderr, "%s: %s\n", file.name.c_str(), sframe::text_of(fault.problem));
  std::exit(1);
}

int add_file(dl_phdr_info* info, std::size_t, void* data) {
  auto& files = *static_cast<std::vector<LoadedFile>*>(data);
  LoadedFile& file = files.emplace_back();
  file.name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program";
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type == gnu_sframe_segment) open_section(file, info->dlpi_addr + segment.p_vaddr, segment.p_memsz);
  }
  return 0;
}

struct Adding {
  const LoadedFile* file;  ///< the next one
  std::vector<Module>* modules;
};

/// In the order of add_file.
int add_code(dl_phdr_info* info, std::size_t, void* data) {
  auto& adding = *static_cast<Adding*>(data);
  const sframe::SectionView* const view = adding.file->has_section ? &adding.file->view : nullptr;
  ++adding.file;
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const std::uint64_t address = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    adding.modules->push_back({address, address + segment.p_memsz, 0, view});
  }
  return 0;
}

}  // namespace

Tables::Tables() {
  ::dl_iterate_phdr(add_file, &files_);
  Adding adding{files_.data(), &modules_};
  ::dl_iterate_phdr(add_code, &adding);
  std::ranges::sort(modules_, {}, &Module::begin);
}

const LoadedFile* Tables::find(std::uint64_t pc) const {
  for (const Module& module : modules_) {
    if (pc < module.begin || pc >= module.end || module.view == nullptr) continue;
    for (const LoadedFile& file : files_) {
      if (&file.view == module.view) return &file;
    }
  }
  return nullptr;
}

}  // namespace sframe_gen::unwind
