#include "trace/walk/section_cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "elf/build_id.hpp"
#include "support/digest.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

namespace {

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::filesystem::path SectionCache::path_for(const elf::Image& image) const {
  const std::string id = elf::hex_digits(elf::build_id(image));
  if (folder_.empty() || id.empty()) return {};
  // Build-ids are what a linker was told to write; and another release may know more rows.
  Digester digester;
  digester.update(image.file_bytes());
  return folder_ / (id + "-" + elf::hex_digits(digester.digest()) + "-" SFRAME_GEN_VERSION ".sframe");
}

std::vector<std::byte> SectionCache::find(const elf::Image& image) const {
  const std::filesystem::path path = path_for(image);
  std::error_code none;
  if (path.empty() || !std::filesystem::is_regular_file(path, none)) return {};
  const MappedFile file(path);
  return {file.bytes().begin(), file.bytes().end()};
}

void SectionCache::keep(const elf::Image& image, std::span<const std::byte> section) const {
  const std::filesystem::path path = path_for(image);
  if (path.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  std::string made = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(made.data(), O_CLOEXEC);
  if (descriptor < 0) return;
  const bool is_written = write_all(descriptor, section) && ::close(descriptor) == 0;
  if (is_written) std::filesystem::rename(made, path, failed);
  if (!is_written || failed) std::filesystem::remove(made, failed);
}

}  // namespace sframe_gen::trace
