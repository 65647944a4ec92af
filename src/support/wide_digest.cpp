#include "support/wide_digest.hpp"

// glibc's, in a C++ that clang does not take.
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)
#include <sys/platform/x86.h>
#define SFRAME_GEN_PROCESSOR_IS_KNOWN
#endif

namespace sframe_gen {

#if defined(__x86_64__)

/// glibc has asked the processor already, and each question takes microseconds under a hypervisor.
DigestUpdate* wide_digest_update() {
#if defined(SFRAME_GEN_PROCESSOR_IS_KNOWN)
  const bool has_avx512 = CPU_FEATURE_ACTIVE(AVX512F), has_avx2 = CPU_FEATURE_ACTIVE(AVX2);
#else
  const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0, has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif
  if (has_avx512) return update_by_avx512;
  return has_avx2 ? update_by_avx2 : nullptr;
}

#else

DigestUpdate* wide_digest_update() {
  return nullptr;
}

#endif

}  // namespace sframe_gen
