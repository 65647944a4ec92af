#include "trace/recorded/kernel_names.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

/// No function is so large that what is loaded later could not lie between two that are further apart.
constexpr std::uint64_t most_apart = std::uint64_t{1} << 20U;

/// Which start of the kernel it is and, of each module, all but how many use it. Nothing: it cannot be told.
std::optional<Digest> start_and_modules() {
  std::ifstream start("/proc/sys/kernel/random/boot_id");
  std::string text;
  if (!std::getline(start, text) || text.empty()) return std::nullopt;
  // "ext4 1036288 1 jbd2, Live 0xffffffffc0a00000". A kernel without modules has no list of them.
  std::ifstream modules("/proc/modules");
  for (std::string name, size, users, by, state, address; modules >> name >> size >> users >> by >> state >> address;) {
    if (address.find_first_not_of("0x") == std::string::npos) return std::nullopt;
    text.append("\n").append(name).append(" ").append(size).append(" ").append(state).append(" ").append(address);
    modules.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  Digester digester;
  digester.update(std::as_bytes(std::span(text)));
  return digester.digest();
}

bool is_lasting(std::string_view module) {
  return module != "[bpf]" && !module.starts_with("[__builtin");
}

}  // namespace

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

KernelNames KernelNames::of_running_kernel(const std::filesystem::path& folder, const std::string& build_id,
                                           std::filesystem::path kallsyms) {
  KernelNames names;
  names.kallsyms_ = std::move(kallsyms);
  const auto source = folder.empty() || build_id.empty() ? std::nullopt : start_and_modules();
  if (!source) return names;
  names.source_ = *source;
  names.kept_ = folder / (build_id + ".kallsyms");
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
  function.is_lasting = at[1] == 'T';
  at += 3;
  const char* const tab = std::find(at, end, '\t');
  function.name = {at, static_cast<std::size_t>(tab - at)};
  if (tab != end) function.module = {tab + 1, static_cast<std::size_t>(end - tab - 1)};
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
  is_kept_ = false;
  try {
    take_list(read_list(kallsyms_));
  } catch (const SystemFailure&) {
    // Addresses will do.
  }
}

/// Functions that may not last become local ones: what the kernel makes as it runs, and what may have something else
/// after it next time.
void KernelNames::keep() const {
  // Modules may have come and gone while the list was read.
  if (kept_.empty() || functions_.empty() || start_and_modules() != source_) return;
  std::string text;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    const bool ends = i + 1 < functions_.size() && functions_[i + 1].module == function.module &&
                      functions_[i + 1].begin - function.begin <= most_apart;
    text.append(hex(function.begin).substr(2)).append(ends && is_lasting(function.module) ? " T " : " t ");
    text.append(function.name) += '\n';
  }
  files::KeptFile::keep(kept_, source_, std::as_bytes(std::span(text)));
}

void KernelNames::find_and_check() {
  is_checked_ = true;
  const bool has_mark = mark_ != nullptr && mark_->has_value();
  // perf may have padded a short one with zeros.
  if (!expected_build_id_.empty() && !(has_mark && (*mark_)->build_id.starts_with(expected_build_id_))) return;
  if (const auto kept = kept_.empty() ? std::nullopt : files::KeptFile::find(kept_, source_)) {
    const auto* const begin = reinterpret_cast<const char*>(kept->content().data());
    take_list({begin, begin + kept->content().size()});
    is_kept_ = true;
  } else if (!kallsyms_.empty()) {
    read_running();
    keep();
  }
  if (!has_mark || functions_.empty()) return;
  are_of_another_start_ = std::ranges::none_of(functions_, [&](const Function& function) {
    return function.begin == (*mark_)->address && function.name == (*mark_)->function;
  });
  if (!are_of_another_start_) return;
  functions_.clear();
  is_kept_ = false;
}

const KernelNames::Function* KernelNames::function_at(std::uint64_t pc) const {
  const auto after = std::ranges::upper_bound(functions_, pc, {}, &Function::begin);
  return after == functions_.begin() ? nullptr : &*std::prev(after);
}

std::string_view KernelNames::name_at(std::uint64_t pc) {
  if (!is_checked_) find_and_check();
  const Function* found = function_at(pc);
  if (is_kept_ && (found == nullptr || !found->is_lasting)) {
    read_running();
    found = function_at(pc);
  }
  return found == nullptr ? std::string_view() : found->name;
}

KernelNames running_kernel_names(const PerfDataFile& recording, const std::filesystem::path& cache) {
  const std::string running = running_build_id();
  if (running.empty()) return {};
  const auto recorded = recording.build_ids().find(kernel_file);
  const bool is_named = recorded != recording.build_ids().end();
  if (is_named && !recorded->second.starts_with(running)) return {};
  KernelNames names = KernelNames::of_running_kernel(cache, running);
  // `perf record --buildid-mmap` has it in the record of the kernel's mapping alone.
  if (!is_named) names.expect_build_id(running);
  return names;
}

}  // namespace sframe_gen::trace
