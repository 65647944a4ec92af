#include "api/section_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "elf/image.hpp"
#include "elf/kept_section.hpp"
#include "elf/needed_files.hpp"
#include "files/kept_header.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/section.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::api {
namespace {

/// As sframe-trace makes it. Walks look up the byte before a return address, so padding needs no rows.
std::vector<std::byte> make_section(const elf::Image& image) {
  ConvertOptions options;
  options.format.covers_padding = false;
  auto made = translate(image.file_bytes(), image.name(), files::kept_section_address, options);
  check_is_whole(image.file_bytes(), image.name());
  // Programs check a header only. All of it is checked here, once.
  sframe::decode(made.bytes, files::kept_section_address, {image.name(), ".sframe"});
  return std::move(made.bytes);
}

/// Those who may read a file may read its section.
mode_t readers_of(const elf::Image& image) {
  struct stat status {};
  const bool is_known = image.is_file() && ::fstat(image.descriptor(), &status) == 0;
  return S_IRUSR | S_IWUSR | (is_known ? status.st_mode & (S_IRGRP | S_IROTH) : 0);
}

CachedSection cache_section(const elf::Image& image, const std::filesystem::path& directory) {
  const elf::KeptSection place(directory, image);
  if (!place.has_place()) throw Refused(image.name(), "no build-id, by which a program would find its section");
  CachedSection cached{image.name()};
  if (const auto kept = place.find()) {
    cached.size = kept->content().size();
  } else {
    const auto section = make_section(image);
    cached.size = section.size();
    cached.is_new = true;
    if (!place.keep(section, readers_of(image))) throw SystemFailure(directory.string(), "write to", errno);
  }
  place.offer();
  return cached;
}

}  // namespace

void make_cache_directory(const std::filesystem::path& directory) {
  constexpr mode_t own = 0700;
  std::error_code failed;
  if (directory.has_parent_path()) std::filesystem::create_directories(directory.parent_path(), failed);
  if (::mkdir(directory.c_str(), own) != 0 && errno != EEXIST) throw SystemFailure(directory.string(), "make", errno);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) throw SystemFailure(directory.string(), "read", errno);
  if (!S_ISDIR(status.st_mode)) throw Refused(directory.string(), "not a directory");
  if (status.st_uid != ::geteuid()) throw Refused(directory.string(), "belongs to another user");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw Refused(directory.string(), "others may write to it (use chmod go-w)");
}

CachedSections cache_sections(const std::filesystem::path& file, const std::filesystem::path& directory) {
  const auto image = elf::Image::open(file);
  CachedSections cached;
  cached.sections.push_back(cache_section(image, directory));
  const auto needed = elf::needed_files(image);
  for (const auto& library : needed.found) {
    try {
      cached.sections.push_back(cache_section(elf::Image::open(library), directory));
    } catch (const Failure& failure) {
      cached.failures.emplace_back(failure.what());
    }
  }
  for (const std::string& name : needed.missing) cached.failures.push_back(name + ": found in no directory");
  return cached;
}

}  // namespace sframe_gen::api
