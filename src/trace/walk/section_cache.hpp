#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::trace {

/// Sections that were made once, in a folder, by the build-id and a digest of their file. What is read from it is
/// checked by whoever opens it; what cannot be kept is made again next time.
class SectionCache {
 public:
  /// Where the starts of a kept section's functions count from.
  static constexpr std::uint64_t address = 0;

  /// An empty path: nothing is found or kept.
  explicit SectionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Empty: there is none.
  std::vector<std::byte> find(const elf::Image& image) const;
  /// The file of a section is whole or not there.
  void keep(const elf::Image& image, std::span<const std::byte> section) const;

 private:
  std::filesystem::path path_for(const elf::Image& image) const;
  std::filesystem::path folder_;
};

}  // namespace sframe_gen::trace
