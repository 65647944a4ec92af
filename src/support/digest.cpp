#include "support/digest.hpp"

#include <algorithm>
#include <cstring>

#include "support/wide_digest.hpp"

// Its code is in its header: a shared library would take as long to load as half of a small file's digests.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sframe_gen {

struct Digester::State : XXH3_state_t {};

void Digester::Free::operator()(State* state) const {
  delete state;
}

Digester::Digester() : state_(new State) {
  ::XXH3_128bits_reset(state_.get());
}

void Digester::update(std::span<const std::byte> bytes) {
  static DigestUpdate* const wide_update = wide_digest_update();
  if (wide_update != nullptr) return wide_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
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
