#pragma once

#include <cstddef>

namespace sframe_gen {

/// XXH3_128bits_update in wider registers than every machine of its kind has, in a third of the time or less. `state`
/// is an XXH3_state_t, the same in each translation unit that xxhash.h is in.
using DigestUpdate = void(void* state, const void* bytes, std::size_t size);

/// In the widest registers that this processor has, and this kernel lets programs use. Null: none are wider.
DigestUpdate* wide_digest_update();

DigestUpdate update_by_avx2, update_by_avx512;

}  // namespace sframe_gen
