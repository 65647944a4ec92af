#include "support/digest.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>

/// With the widest registers that the processor has, in half the time. Builds of the library for x86-64 have it, if
/// only as a shared one; null in others.
// NOLINTNEXTLINE(readability-identifier-naming): its name there
extern "C" [[gnu::weak]] XXH_errorcode XXH3_128bits_update_dispatch(XXH3_state_t* state, const void* bytes,
                                                                    std::size_t size);

namespace sframe_gen {

void Digester::Free::operator()(XXH3_state_s* state) const {
  ::XXH3_freeState(state);
}

// The library's own allocation: the state wants an alignment of 64.
Digester::Digester() : state_(::XXH3_createState()) {
  if (state_ == nullptr || ::XXH3_128bits_reset(state_.get()) != XXH_OK) throw std::bad_alloc();
}

void Digester::update(std::span<const std::byte> bytes) {
  (::XXH3_128bits_update_dispatch != nullptr ? ::XXH3_128bits_update_dispatch : ::XXH3_128bits_update)(
      state_.get(), bytes.data(), bytes.size());
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
