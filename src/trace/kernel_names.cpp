#include "trace/kernel_names.hpp"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "elf/build_id.hpp"
#include "elf/note.hpp"
#include "support/text.hpp"

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
    if (note.type == NT_GNU_BUILD_ID && note.owner == "GNU") return elf::hex_digits(note.descriptor);
  }
  return {};
}

}  // namespace

KernelNames::KernelNames(std::istream& list) {
  for (std::string line; std::getline(list, line);) {
    Function function{};
    constexpr int hexadecimal = 16;
    const char* const end = line.data() + line.size();
    const char* at = std::from_chars(line.data(), end, function.begin, hexadecimal).ptr;
    // " T name", and behind a tab the module.
    const bool is_code = end - at > 3 && at[0] == ' ' && std::string_view("tTwW").find(at[1]) != std::string_view::npos;
    if (!is_code || at[2] != ' ' || function.begin == 0) continue;
    at += 3;
    function.name = printable({at, static_cast<std::size_t>(std::find(at, end, '\t') - at)});
    functions_.push_back(std::move(function));
  }
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

std::string_view KernelNames::name_at(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(functions_, pc, {}, &Function::begin);
  return behind == functions_.begin() ? std::string_view() : std::prev(behind)->name;
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
