#include "backtrace/section_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "files/kept_header.hpp"

namespace sframe_gen::backtrace {
namespace {

/// Opens no device and does not wait: anything may have the name.
constexpr int reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// What others may write to holds what they want us to believe.
bool is_trusted(const struct stat& status) {
  const bool is_own = status.st_uid == ::geteuid() || status.st_uid == 0;
  return is_own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// False: there is none, or its name is too long.
bool find_directory(char** environment, char (&path)[PATH_MAX]) {
  const auto put = [&](const char* directory, const char* below) {
    const int length = std::snprintf(path, sizeof path, "%s%s", directory, below);
    return length > 0 && static_cast<std::size_t>(length) < sizeof path;
  };
  if (const char* const named = find_variable(environment, "SFRAME_BACKTRACE_CACHE")) return put(named, "");
  const char* const caches = find_variable(environment, "XDG_CACHE_HOME");
  // A relative one does not count (XDG Base Directory Specification).
  if (caches != nullptr && *caches == '/') return put(caches, "/sframe");
  const char* const home = find_variable(environment, "HOME");
  return home != nullptr && *home == '/' && put(home, "/.cache/sframe");
}

bool has_known_header(const void* bytes, std::size_t size) {
  files::KeptHeader header;
  const files::KeptHeader known;
  if (size < sizeof header) return false;
  std::memcpy(&header, bytes, sizeof header);
  return header.form == known.form;
}

/// Maps a file of the directory for good. Null: there is none that may be used.
const void* map_entry(int directory, const char* name, std::size_t& size) {
  const int file = ::openat(directory, name, reading | O_NOFOLLOW);
  if (file < 0) return nullptr;
  struct stat status {};
  const bool is_usable = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && is_trusted(status);
  size = is_usable ? static_cast<std::size_t>(status.st_size) : 0;
  void* const bytes = size != 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  ::close(file);
  if (bytes == MAP_FAILED) return nullptr;
  if (has_known_header(bytes, size)) return bytes;
  ::munmap(bytes, size);
  return nullptr;
}

}  // namespace

SectionCache::SectionCache(char** environment) {
  char path[PATH_MAX];
  if (!find_directory(environment, path) || *path == '\0') return;
  const int directory = ::open(path, reading | O_DIRECTORY);
  if (directory < 0) return;
  struct stat status {};
  if (::fstat(directory, &status) == 0 && is_trusted(status)) {
    directory_ = directory;
  } else {
    is_refused_ = true;
    ::close(directory);
  }
}

SectionCache::~SectionCache() {
  if (is_open()) ::close(directory_);
}

int SectionCache::provide(void* context, const sframe_unwind_file* file, const void** bytes, std::size_t* size,
                          std::uint64_t* address) {
  auto& cache = *static_cast<SectionCache*>(context);
  if (file->build_id_size == 0 || file->code_count == 0) return ENOENT;
  files::SectionName name({reinterpret_cast<const std::byte*>(file->build_id), file->build_id_size});
  for (std::size_t i = 0; i != file->code_count; ++i) name.add_code(file->code[i].address, file->code[i].size);
  const char* const text = name.finish();
  std::size_t whole = 0;
  const void* const entry = text != nullptr ? map_entry(cache.directory_, text, whole) : nullptr;
  if (entry == nullptr) return ENOENT;
  *bytes = static_cast<const std::byte*>(entry) + sizeof(files::KeptHeader);
  *size = whole - sizeof(files::KeptHeader);
  *address = files::kept_section_address;
  ++cache.provided_;
  return 0;
}

const char* find_variable(char** environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (char** each = environment; *each != nullptr; ++each) {
    if (std::strncmp(*each, name, length) == 0 && (*each)[length] == '=') return *each + length + 1;
  }
  return nullptr;
}

}  // namespace sframe_gen::backtrace
