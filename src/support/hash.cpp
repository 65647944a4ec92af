#include "support/hash.hpp"

#include <sys/auxv.h>

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sframe_gen {

std::uint64_t seed_of_run() {
  static const std::uint64_t seed = [] {
    // 16 bytes that the kernel gives each process it starts.
    const auto* const random =
        reinterpret_cast<const char*>(::getauxval(AT_RANDOM));  // NOLINT(performance-no-int-to-ptr)
    std::uint64_t value = 0;
    if (random != nullptr) std::memcpy(&value, random, sizeof value);
    return mixed(value);
  }();
  return seed;
}

std::uint64_t hash_of_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  return ::XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace sframe_gen
