#include "trace/recorded/kernel_names.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::recorded {

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

KernelNames::KernelNames(std::vector<char> list) {
  take_list(std::move(list));
}

KernelNames KernelNames::of_running_kernel(std::filesystem::path kallsyms) {
  KernelNames names;
  names.kallsyms_ = std::move(kallsyms);
  return names;
}

void KernelNames::take_list(std::vector<char> list) {
  functions_.clear();
  list_ = std::move(list);
  constexpr std::size_t usual_line = 44;
  functions_.reserve(list_.size() / usual_line);
  std::string_view rest(list_.data(), list_.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    take_line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!std::ranges::is_sorted(functions_, {}, &Function::begin)) {
    std::ranges::stable_sort(functions_, {}, &Function::begin);
  }
}

void KernelNames::take_line(std::string_view line) {
  Function function{};
  constexpr int hexadecimal = 16;
  const char* const end = line.data() + line.size();
  const char* at = std::from_chars(line.data(), end, function.begin, hexadecimal).ptr;
  // " T name", and after a tab the module.
  const bool is_code = end - at > 3 && at[0] == ' ' && std::string_view("tTwW").find(at[1]) != std::string_view::npos;
  if (!is_code || at[2] != ' ' || function.begin == 0) return;
  at += 3;
  const char* const tab = std::find(at, end, '\t');
  function.name = {at, static_cast<std::size_t>(tab - at)};
  const auto is_plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
  if (!std::ranges::all_of(function.name, is_plain)) {
    function.name = changed_.emplace_back(printable(function.name));
  }
  functions_.push_back(function);
}

std::vector<char> read_list(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemFailure(path.string(), "open", errno);
  std::vector<char> list;
  constexpr std::size_t most_at_once = std::size_t{1} << 16U, usual_size = std::size_t{1} << 24U;
  list.reserve(usual_size);
  do {
    const std::size_t before = list.size();
    list.resize(before + most_at_once);
    file.read(list.data() + before, most_at_once);
    list.resize(before + static_cast<std::size_t>(file.gcount()));
  } while (file);
  return list;
}

void KernelNames::read_running() {
  try {
    take_list(read_list(kallsyms_));
  } catch (const SystemFailure&) {
    // Addresses will do.
  }
}

void KernelNames::find_and_check() {
  is_checked_ = true;
  const bool has_mark = mark_ != nullptr && mark_->has_value();
  // perf may have padded a short one with zeros.
  if (!expected_build_id_.empty() && !(has_mark && (*mark_)->build_id.starts_with(expected_build_id_))) return;
  if (!kallsyms_.empty()) read_running();
  if (!has_mark || functions_.empty()) return;
  are_of_another_start_ = std::ranges::none_of(functions_, [&](const Function& function) {
    return function.begin == (*mark_)->address && function.name == (*mark_)->function;
  });
  if (are_of_another_start_) functions_.clear();
}

std::string_view KernelNames::name_at(std::uint64_t pc) {
  if (!is_checked_) find_and_check();
  const auto after = std::ranges::upper_bound(functions_, pc, {}, &Function::begin);
  return after == functions_.begin() ? std::string_view() : std::prev(after)->name;
}

KernelNames running_kernel_names(const perf::PerfDataFile& recording) {
  const std::string running = running_build_id();
  if (running.empty()) return {};
  const auto recorded = recording.build_ids().find(kernel_file);
  const bool is_named = recorded != recording.build_ids().end();
  if (is_named && !recorded->second.starts_with(running)) return {};
  KernelNames names = KernelNames::of_running_kernel();
  // `perf record --buildid-mmap` has it in the record of the kernel's mapping alone.
  if (!is_named) names.expect_build_id(running);
  return names;
}

}  // namespace sframe_gen::trace::recorded
