#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf::object {

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

/// Throws Refused if two sections share bytes. Each gets a new place of its own; and a small file could name the same
/// megabytes by thousands of headers.
void check_contents_apart(const elf::Image& object);

/// Throws Refused for objects of which no section can be made: other machines, compiler intermediate code in place of
/// machine code, program headers, sections that share bytes.
void check_describable(const elf::Image& object);

/// As above, and for objects whose contents cannot be laid out again: bytes appended, signatures (unless
/// `drop_signature`: then what follows the section headers goes).
void check_preconditions(const elf::Image& object, bool drop_signature);

}  // namespace sframe_gen::elf::object
