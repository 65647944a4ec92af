#include "elf/needed_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "elf/dynamic_table.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::elf {
namespace {

namespace fs = std::filesystem;

/// Of sysdeps/generic/dl-cache.h of glibc: a header, entries, strings. Numbers are in the byte order of the machine.
struct LoaderCacheHeader {
  char magic[20];
  std::uint32_t entry_count, strings_size;
  std::uint32_t others[5];
};
struct LoaderCacheEntry {
  std::int32_t flags;
  std::uint32_t name, path;  ///< offsets from the header
  std::uint32_t unused;
  std::uint64_t capabilities;
};
static_assert(sizeof(LoaderCacheHeader) == 48 && sizeof(LoaderCacheEntry) == 24);
constexpr std::string_view loader_cache_magic = "glibc-ld.so.cache1.1";

/// The paths that ldconfig has found, by the library's name. None if the file is of another form: the directories of
/// distributions are searched anyway.
std::multimap<std::string, fs::path> read_loader_cache(const fs::path& path) {
  std::multimap<std::string, fs::path> paths;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return paths;
  const MappedFile file(path);
  const auto* const text = reinterpret_cast<const char*>(file.bytes().data());
  const std::string_view all(text, file.bytes().size());
  const std::size_t begin = all.find(loader_cache_magic);  // it may follow an older form
  if (begin == std::string_view::npos) return paths;
  const std::string_view bytes = all.substr(begin);
  LoaderCacheHeader header{};
  if (bytes.size() < sizeof header) return paths;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t count =
      std::min<std::uint64_t>(header.entry_count, (bytes.size() - sizeof header) / sizeof(LoaderCacheEntry));
  const auto string_at = [&](std::uint32_t offset) {
    const std::string_view rest = bytes.substr(std::min<std::size_t>(offset, bytes.size()));
    return std::string(rest.substr(0, rest.find('\0')));
  };
  for (std::uint64_t i = 0; i != count; ++i) {
    LoaderCacheEntry entry{};
    std::memcpy(&entry, bytes.data() + sizeof header + i * sizeof entry, sizeof entry);
    paths.emplace(string_at(entry.name), string_at(entry.path));
  }
  return paths;
}

// More than any program has. Each library is looked for in each directory, so that a file could ask for days of this.
constexpr std::size_t most_directories = 128, most_names = 2048, longest_name = 4096;

/// Directories, separated by colons or, as in LD_LIBRARY_PATH, by semicolons.
std::vector<std::string> split(std::string text) {
  text.resize(std::min(text.size(), most_directories * longest_name));
  std::ranges::replace(text, ';', ':');
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string part; parts.size() != most_directories && std::getline(list, part, ':');)
    if (!part.empty() && part.size() <= longest_name) parts.push_back(std::move(part));
  return parts;
}

void replace_all(std::string& text, std::string_view name, const std::string& value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

/// A file whose needs are looked for.
struct Asking {
  fs::path path;
  std::vector<std::string> inherited;  ///< DT_RPATH of what needs it
};

class LibrarySearch {
 public:
  explicit LibrarySearch(const Image& image) : machine_(image.header().e_machine) {
    const char* const path = std::getenv("LD_LIBRARY_PATH");
    if (path != nullptr) by_environment_ = split(path);
    usual_ = {"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"};
    std::error_code ignored;
    if (const auto loader = interpreter_of(image); !loader.empty() && fs::exists(loader, ignored)) {
      usual_.insert(usual_.begin(), fs::canonical(loader, ignored).parent_path());
      add(loader, {});
    }
    ask(image, {image.name(), {}});
  }

  NeededFiles all() {
    while (!asking_.empty()) {
      const Asking next = std::exchange(asking_.front(), {});
      asking_.pop_front();
      try {
        ask(Image::open(next.path), next);
      } catch (const Failure&) {
        // Its own conversion says what is wrong with it.
      }
    }
    return std::move(needed_);
  }

 private:
  static std::string interpreter_of(const Image& image) {
    const Elf64_Phdr* const segment = image.find_segment(PT_INTERP);
    if (segment == nullptr) return {};
    const auto bytes = image.slice(segment->p_offset, segment->p_filesz, "interpreter's name");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::string(text.substr(0, text.find('\0')));
  }

  void ask(const Image& image, const Asking& asking) {
    const auto entries = read_dynamic(image);
    std::error_code ignored;
    const std::string origin = fs::absolute(asking.path, ignored).parent_path().string();
    const auto directories_of = [&](std::int64_t tag) {
      const auto value = find_dynamic(entries, tag);
      auto directories = value ? split(dynamic_string(image, entries, *value)) : std::vector<std::string>();
      for (std::string& each : directories) {
        for (const char* const name : {"$ORIGIN", "${ORIGIN}"}) replace_all(each, name, origin);
        for (const char* const name : {"$LIB", "${LIB}"}) replace_all(each, name, "lib");
      }
      return directories;
    };
    const auto by_new_path = directories_of(DT_RUNPATH);
    std::vector<std::string> inherited;
    if (by_new_path.empty()) inherited = directories_of(DT_RPATH);
    inherited.insert(inherited.end(), asking.inherited.begin(), asking.inherited.end());
    inherited.resize(std::min(inherited.size(), most_directories));
    std::size_t count = 0;
    for (const DynamicEntry& entry : entries) {
      if (entry.tag != DT_NEEDED) continue;
      if (++count > most_names) break;
      const std::string name = dynamic_string(image, entries, entry.value);
      if (name.empty() || name.size() > longest_name || names_.size() == most_names || !names_.insert(name).second)
        continue;
      std::vector<std::string> directories = by_new_path.empty() ? inherited : std::vector<std::string>();
      directories.insert(directories.end(), by_environment_.begin(), by_environment_.end());
      directories.insert(directories.end(), by_new_path.begin(), by_new_path.end());
      if (!find(name, directories, inherited)) needed_.missing.push_back(name);
    }
  }

  bool find(const std::string& name, const std::vector<std::string>& directories,
            const std::vector<std::string>& inherited) {
    if (name.find('/') != std::string::npos) return add(name, inherited);
    const auto is_in = [&](const std::vector<std::string>& places) {
      return std::ranges::any_of(places, [&](const fs::path& place) { return find_in(place, name, inherited); });
    };
    if (is_in(directories)) return true;
    if (!loader_cache_) loader_cache_ = read_loader_cache("/etc/ld.so.cache");
    bool is_found = false;
    const auto [begin, end] = loader_cache_->equal_range(name);
    for (auto each = begin; each != end; ++each) is_found = add(each->second, inherited) || is_found;
    return is_found || is_in(usual_);
  }

  bool find_in(const fs::path& directory, const std::string& name, const std::vector<std::string>& inherited) {
    bool is_found = false;
    for (const fs::path& place : places_in(directory)) is_found = add(place / name, inherited) || is_found;
    return is_found;
  }

  /// The directory and those for processors in it; none if there is no such directory.
  const std::vector<fs::path>& places_in(const fs::path& directory) {
    constexpr std::size_t most = 8;
    const auto [known, is_new] = places_.try_emplace(directory);
    std::vector<fs::path>& places = known->second;
    std::error_code ignored;
    if (!is_new || !fs::is_directory(directory, ignored)) return places;
    for (const auto& variant : fs::directory_iterator(directory / "glibc-hwcaps", ignored))
      if (places.size() != most) places.push_back(variant.path());
    places.push_back(directory);
    return places;
  }

  /// False: there is no file for this machine.
  bool add(const fs::path& path, const std::vector<std::string>& inherited) {
    if (::access(path.c_str(), R_OK) != 0) return false;
    std::error_code failed;
    const auto file = fs::canonical(path, failed);
    if (failed || !fs::is_regular_file(file, failed)) return false;
    if (paths_.contains(file)) return true;
    try {
      if (Image::open(file).header().e_machine != machine_) return false;
    } catch (const Failure&) {
      return false;
    }
    paths_.insert(file);
    needed_.found.push_back(file);
    asking_.push_back({file, inherited});
    return true;
  }

  std::uint16_t machine_;
  std::vector<std::string> by_environment_, usual_;
  std::optional<std::multimap<std::string, fs::path>> loader_cache_;
  std::map<fs::path, std::vector<fs::path>> places_;
  std::set<std::string> names_;
  std::set<fs::path> paths_;
  std::deque<Asking> asking_;
  NeededFiles needed_;
};

}  // namespace

NeededFiles needed_files(const Image& image) {
  return LibrarySearch(image).all();
}

}  // namespace sframe_gen::elf
