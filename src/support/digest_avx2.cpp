#include "support/wide_digest.hpp"

#if defined(__x86_64__)

// What xxhash.h includes comes first: its functions are everybody's, and must not be compiled for these registers.
// Those of xxhash.h itself are static.
#include <immintrin.h>

#include <cassert>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define XXH_VECTOR 2  // XXH_AVX2
#define XXH_INLINE_ALL
#include <xxhash.h>

void sframe_gen::update_by_avx2(void* state, const void* bytes, std::size_t size) {
  ::XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
