#pragma once

#include <cstdint>
#include <functional>

#include "elf/image.hpp"

namespace sframe_gen::object {

/// One relocation, however it is stored.
struct Relocation {
  std::uint64_t record_offset = 0;  ///< of its own, in its section
  std::uint64_t field_offset = 0;   ///< in the section that it is for
  std::uint32_t type = 0, symbol = 0;
  std::int64_t addend = 0;
};

/// Calls back with each relocation of `section`, of type SHT_RELA or SHT_CREL, in its order. Throws MalformedInput, and
/// Refused for relocations that have no addends of their own. `target` is the name of the section they are for.
void for_each_relocation(const elf::Image& object, const elf::Section& section, const std::string& target,
                         const std::function<void(const Relocation&)>& callback);

}  // namespace sframe_gen::object
