#include "trace/section_cache.hpp"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include "elf/build_id.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

std::string hex_digits(std::span<const std::byte> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += {digits[value >> 4U], digits[value & 15U]};
  }
  return text;
}

std::filesystem::path SectionCache::path_for(const elf::Image& image) const {
  const std::string id = hex_digits(elf::build_id(image));
  if (folder_.empty() || id.empty()) return {};
  // Another release may know more rows.
  return folder_ / (id + "-" SFRAME_GEN_VERSION ".sframe");
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
  const std::filesystem::path made = path.string() + "." + std::to_string(::getpid());
  {
    std::ofstream file(made, std::ios::binary);
    file.write(reinterpret_cast<const char*>(section.data()), static_cast<std::streamsize>(section.size()));
    file.close();
    if (!file) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(made, path, failed);
  if (failed) std::filesystem::remove(made, failed);
}

}  // namespace sframe_gen::trace
