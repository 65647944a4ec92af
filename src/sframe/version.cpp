#include "sframe/version.hpp"

#include <algorithm>

namespace sframe_gen::sframe {
const VersionTraits* find_version(std::uint8_t number) {
  const auto found = std::ranges::find_if(detail::version_table, [&](const VersionTraits& traits) {
    return traits.version != Version::CtfFrame && traits.number == number;
  });
  return found == detail::version_table.end() ? nullptr : &*found;
}

std::string_view name_of(Version version) {
  return traits_of(version).name;
}

}  // namespace sframe_gen::sframe
