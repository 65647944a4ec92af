#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::object {

/// An object's section name table, to which names can be added. clang keeps symbol names in the same: what stands in it
/// keeps its place.
class SectionNames {
 public:
  /// Throws Refused where the object has none.
  explicit SectionNames(const elf::Image& object);

  /// Offset of `name`, which is added where it is not there.
  std::uint32_t place_of(const std::string& name);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace sframe_gen::object
