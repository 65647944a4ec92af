#include "target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sframe_gen::fuzz {

void require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

std::uint8_t Choices::byte() {
  if (left_.empty()) return 0;
  const auto byte = std::to_integer<std::uint8_t>(left_.front());
  left_ = left_.subspan(1);
  return byte;
}

std::uint64_t Choices::word() {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word |= std::uint64_t{byte()} << 8 * i;
  return word;
}

std::uint64_t Choices::below(std::uint64_t limit) {
  const std::uint64_t number = limit <= 256 ? byte() : byte() | std::uint64_t{byte()} << 8U;
  return number % limit;
}

MemoryFile::MemoryFile(Bytes contents) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  const ssize_t written = ::write(descriptor(), contents.data(), contents.size());
  require(written == static_cast<ssize_t>(contents.size()), "memory holds the file");
}

std::filesystem::path MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor());
}

}  // namespace sframe_gen::fuzz
