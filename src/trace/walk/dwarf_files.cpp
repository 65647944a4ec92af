#include "trace/walk/dwarf_files.hpp"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// A descriptor of its own for libdwfl: it closes what it is given. -1: none.
int descriptor_of(const elf::Image& image, bool is_file) {
  if (is_file) return ::fcntl(image.descriptor(), F_DUPFD_CLOEXEC, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  const int descriptor = ::memfd_create("image", MFD_CLOEXEC);
  const auto bytes = image.file_bytes();
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

/// Where only one file's information counts, no other is looked for, least of all in the network.
int find_no_debug_file(Dwfl_Module* /*module*/, void** /*user_data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                       const char* /*path*/, const char* /*link*/, GElf_Word /*checksum*/, char** /*found*/) {
  return -1;
}

int find_no_file(Dwfl_Module* /*module*/, void** /*user_data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                 char** /*path*/, Elf** /*elf*/) {
  return -1;
}

/// Of the file's addresses, those that libdwfl takes for its own (libdwfl/dwfl_report_elf.c).
std::pair<std::uint64_t, std::uint64_t> range_of(const elf::Image& image) {
  std::optional<std::uint64_t> begin;
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    if (!begin) begin = segment.p_vaddr & -segment.p_align;
    end = segment.p_vaddr + segment.p_memsz;
  }
  return {begin.value_or(0), end};
}

}  // namespace

DwarfFiles::DwarfFiles() {
  static const Dwfl_Callbacks callbacks{find_no_file, find_no_debug_file, dwfl_offline_section_address, nullptr};
  dwfl_ = dwfl_begin(&callbacks);
  if (dwfl_ == nullptr) throw SystemFailure("libdwfl", "begin", ENOMEM);
}

DwarfFiles::~DwarfFiles() {
  dwfl_end(dwfl_);
}

bool DwarfFiles::is_free(const File& file) const {
  return std::ranges::none_of(files_,
                              [&](const File& other) { return file.begin < other.end && other.begin < file.end; });
}

bool DwarfFiles::put(AddressSpace& space, std::uint64_t pc) {
  const AddressSpace::Place place = space.place_of(pc);
  if (place.file == nullptr) return true;
  const std::uint64_t bias = pc - place.address;
  if (Dwfl_Module* const there = dwfl_addrmodule(dwfl_, pc)) {
    void** known = nullptr;
    dwfl_module_info(there, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const auto* const file = static_cast<const File*>(*known);
    return file != nullptr && file->file == place.file && file->bias == bias;
  }
  const auto [begin, end] = range_of(place.file->image());
  const File file{place.file, bias, begin + bias, end + bias};
  // It finds nothing by the file there, whatever it is told.
  if (pc < file.begin || pc >= file.end) return true;
  return is_free(file) && report(file, place.mapping->path != "[vdso]", pc);
}

bool DwarfFiles::report(const File& file, bool is_file, std::uint64_t pc) {
  const int descriptor = descriptor_of(file.file->image(), is_file);
  if (descriptor < 0) return true;
  // libdwfl takes modules of one name for one.
  const std::string name = std::to_string(files_.size());
  Dwfl_Module* const added = dwfl_report_elf(dwfl_, name.c_str(), name.c_str(), descriptor, file.bias, true);
  if (added == nullptr) {
    ::close(descriptor);
    return true;
  }
  void** known = nullptr;
  dwfl_module_info(added, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *known = &files_.emplace_back(file);
  return dwfl_addrmodule(dwfl_, pc) == added;
}

}  // namespace sframe_gen::trace
