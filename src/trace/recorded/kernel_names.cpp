#include "trace/recorded/kernel_names.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
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

KeptFunctions::KeptFunctions(const std::filesystem::path& folder, const std::string& build_id) {
  if (folder.empty() || build_id.empty()) return;
  const auto source = start_and_modules();
  if (!source) return;
  source_ = *source;
  path_ = folder / (build_id + ".functions");
}

bool KeptFunctions::find() {
  if (path_.empty()) return false;
  file_ = KeptFile::find(path_, source_);
  if (!file_) return false;
  auto rest = file_->content();
  std::uint64_t count = 0;
  if (rest.size() < sizeof count) return false;
  std::memcpy(&count, rest.data(), sizeof count);
  rest = rest.subspan(sizeof count);
  if (count > rest.size() / sizeof(Entry)) return false;
  entries_ = {reinterpret_cast<const Entry*>(rest.data()), static_cast<std::size_t>(count)};
  rest = rest.subspan(entries_.size_bytes());
  names_ = {reinterpret_cast<const char*>(rest.data()), rest.size()};
  return true;
}

void KeptFunctions::keep(std::span<const KernelFunction> functions) const {
  // Modules may have come and gone while the list was read.
  if (path_.empty() || functions.empty() || start_and_modules() != source_) return;
  std::vector<Entry> entries;
  entries.reserve(functions.size());
  std::string names;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const KernelFunction& function = functions[i];
    const bool ends = i + 1 < functions.size() && functions[i + 1].module == function.module &&
                      functions[i + 1].begin - function.begin <= most_apart;
    if (function.name.size() > std::numeric_limits<std::uint16_t>::max()) return;
    entries.push_back({function.begin, static_cast<std::uint32_t>(names.size()),
                       static_cast<std::uint16_t>(function.name.size()), ends && is_lasting(function.module)});
    names += function.name;
    if (names.size() > std::numeric_limits<std::uint32_t>::max()) return;
  }
  const std::uint64_t count = entries.size();
  std::vector<std::byte> content;
  const auto add = [&](std::span<const std::byte> bytes) { content.insert(content.end(), bytes.begin(), bytes.end()); };
  add(std::as_bytes(std::span(&count, 1)));
  add(std::as_bytes(std::span(entries)));
  add(std::as_bytes(std::span(names)));
  KeptFile::keep(path_, source_, content);
}

std::string_view KeptFunctions::name_of(const Entry& entry) const {
  return entry.name > names_.size() ? std::string_view() : names_.substr(entry.name, entry.size);
}

std::optional<std::string_view> KeptFunctions::name_at(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(entries_, pc, {}, &Entry::begin);
  if (behind == entries_.begin() || std::prev(behind)->is_lasting == 0) return std::nullopt;
  return name_of(*std::prev(behind));
}

bool KeptFunctions::has(std::uint64_t address, std::string_view name) const {
  for (auto at = std::ranges::lower_bound(entries_, address, {}, &Entry::begin);
       at != entries_.end() && at->begin == address; ++at) {
    if (name_of(*at) == name) return true;
  }
  return false;
}

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

KernelNames::KernelNames(std::vector<char> list) {
  take_list(std::move(list));
}

KernelNames KernelNames::of_running_kernel(KeptFunctions kept) {
  KernelNames names;
  names.is_to_be_read_ = true;
  names.kept_ = std::move(kept);
  return names;
}

void KernelNames::take_list(std::vector<char> list) {
  list_ = std::move(list);
  constexpr std::size_t usual_line = 44;
  functions_.reserve(list_.size() / usual_line);
  std::string_view rest(list_.data(), list_.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    take_line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!std::ranges::is_sorted(functions_, {}, &KernelFunction::begin)) {
    std::ranges::stable_sort(functions_, {}, &KernelFunction::begin);
  }
}

void KernelNames::take_line(std::string_view line) {
  KernelFunction function{};
  constexpr int hexadecimal = 16;
  const char* const end = line.data() + line.size();
  const char* at = std::from_chars(line.data(), end, function.begin, hexadecimal).ptr;
  // " T name", and behind a tab the module.
  const bool is_code = end - at > 3 && at[0] == ' ' && std::string_view("tTwW").find(at[1]) != std::string_view::npos;
  if (!is_code || at[2] != ' ' || function.begin == 0) return;
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
  is_to_be_read_ = false;
  try {
    take_list(read_list("/proc/kallsyms"));
  } catch (const SystemFailure&) {
    // Addresses will do.
  }
  if (kept_ && !is_kept_) kept_->keep(functions_);
}

bool KernelNames::has(const KernelMark& mark) const {
  if (is_kept_) return kept_->has(mark.address, mark.function);
  const auto is_marked = [&](const KernelFunction& function) {
    return function.begin == mark.address && function.name == mark.function;
  };
  return std::ranges::any_of(functions_, is_marked);
}

void KernelNames::find_and_check() {
  is_checked_ = true;
  if (is_to_be_read_) {
    is_kept_ = kept_ && kept_->find();
    if (!is_kept_) read_running();
  }
  if (mark_ == nullptr || !*mark_ || (functions_.empty() && !is_kept_)) return;
  are_of_another_start_ = !has(**mark_);
  if (!are_of_another_start_) return;
  functions_.clear();
  is_kept_ = is_to_be_read_ = false;
}

std::string_view KernelNames::name_at(std::uint64_t pc) {
  if (!is_checked_) find_and_check();
  if (is_kept_) {
    if (const auto name = kept_->name_at(pc)) return *name;
    if (is_to_be_read_) read_running();
  }
  const auto behind = std::ranges::upper_bound(functions_, pc, {}, &KernelFunction::begin);
  return behind == functions_.begin() ? std::string_view() : std::prev(behind)->name;
}

KernelNames running_kernel_names(const RecordingFile& recording, const std::filesystem::path& cache) {
  const auto recorded = recording.build_ids().find(kernel_file);
  if (recorded == recording.build_ids().end()) return {};
  const std::string running = running_build_id();
  if (running.empty() || !recorded->second.starts_with(running)) return {};
  return KernelNames::of_running_kernel(KeptFunctions(cache, running));
}

}  // namespace sframe_gen::trace
