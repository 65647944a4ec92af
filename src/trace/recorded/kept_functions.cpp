#include "trace/recorded/kept_functions.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include "trace/recorded/kernel_names.hpp"

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

}  // namespace sframe_gen::trace
