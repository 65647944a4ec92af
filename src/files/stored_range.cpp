#include "files/stored_range.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sframe_gen::files {

StoredRange next_stored(int descriptor, std::uint64_t from, std::uint64_t to) {
  const off_t data = ::lseek(descriptor, static_cast<off_t>(from), SEEK_DATA);
  // Behind the last data. Any other error, EINVAL for one, is of a file system that does not tell holes apart.
  if (data < 0 && errno == ENXIO) return {to, to};
  if (data < 0) return {from, to};
  const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
  return {std::min(static_cast<std::uint64_t>(data), to),
          hole < 0 ? to : std::min(static_cast<std::uint64_t>(hole), to)};
}

}  // namespace sframe_gen::files
