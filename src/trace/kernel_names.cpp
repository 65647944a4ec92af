#include "trace/kernel_names.hpp"

#include <elf.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "elf/note.hpp"
#include "support/text.hpp"
#include "trace/section_cache.hpp"

namespace sframe_gen::trace {

namespace {

/// What perf calls the kernel in its list of build-ids.
constexpr const char* kernel_file = "[kernel.kallsyms]";

std::string running_build_id() {
  const std::string path = "/sys/kernel/notes";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::uint64_t alignment = 4;
  for (const elf::Note& note :
       elf::read_notes(std::as_bytes(std::span(bytes)), alignment, host_endian, {path, "notes"})) {
    if (note.type == NT_GNU_BUILD_ID && note.owner == "GNU") return hex_digits(note.descriptor);
  }
  return {};
}

}  // namespace

KernelNames::KernelNames(std::istream& list) {
  for (std::string line; std::getline(list, line);) {
    std::istringstream fields(line);
    Function function{};
    char type = 0;
    fields >> std::hex >> function.begin >> type >> function.name;
    const bool is_code = type == 't' || type == 'T' || type == 'w' || type == 'W';
    if (!fields || !is_code || function.begin == 0) continue;
    function.name = printable(function.name);
    functions_.push_back(std::move(function));
  }
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

std::string KernelNames::name_at(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(functions_, pc, {}, &Function::begin);
  return behind == functions_.begin() ? std::string() : std::prev(behind)->name;
}

KernelNames running_kernel_names(const RecordingFile& recording) {
  const auto recorded = recording.build_ids().find(kernel_file);
  if (recorded == recording.build_ids().end()) return {};
  const std::string running = running_build_id();
  if (running.empty() || !recorded->second.starts_with(running)) return {};
  std::ifstream list("/proc/kallsyms");
  return KernelNames(list);
}

}  // namespace sframe_gen::trace
