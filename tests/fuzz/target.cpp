#include "target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sframe_gen::fuzz {

void archive(Bytes input);
void conversion(Bytes input);
void core_file(Bytes input);
void expression(Bytes input);
void go(Bytes input);
void image(Bytes input);
void object(Bytes input);
void options(Bytes input);
void perf_data(Bytes input);
void plan(Bytes input);
void proc(Bytes input);
void rows(Bytes input);
void section(Bytes input);
void undo(Bytes input);

std::span<const Target> targets() {
  static constexpr Target all[] = {
      {"archive", archive, false},
      {"conversion", conversion, true},
      {"core_file", core_file, true},
      {"expression", expression, false},
      {"go", go, false},
      {"image", image, true},
      {"object", object, true},
      {"options", options, false},
      {"perf_data", perf_data, false},
      {"plan", plan, false},
      {"proc", proc, false},
      {"rows", rows, false},
      {"section", section, false},
      {"undo", undo, false},
  };
  return all;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

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
