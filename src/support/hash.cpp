#include "support/hash.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

// xxHash's code is in its header: a shared library would take as long to load as half of a small file's digests.
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

struct Digester::State : XXH3_state_t {};

void Digester::Free::operator()(State* state) const {
  delete state;
}

Digester::Digester() : state_(new State) {
  ::XXH3_128bits_reset(state_.get());
}

void Digester::update(std::span<const std::byte> bytes) {
  ::XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void Digester::update_zeros(std::uint64_t size) {
  static constexpr std::array<std::byte, std::size_t{1} << 16> zeros = {};
  while (size != 0) {
    const std::size_t piece = std::min<std::uint64_t>(size, zeros.size());
    update(std::span(zeros).first(piece));
    size -= piece;
  }
}

Digest Digester::digest() const {
  XXH128_canonical_t canonical;
  ::XXH128_canonicalFromHash(&canonical, ::XXH3_128bits_digest(state_.get()));
  Digest digest;
  static_assert(sizeof canonical.digest == sizeof digest);
  std::memcpy(digest.data(), canonical.digest, sizeof digest);
  return digest;
}

}  // namespace sframe_gen
