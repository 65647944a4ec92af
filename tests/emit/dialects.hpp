#pragma once

#include "emit/dialect.hpp"

namespace sframe_gen::test {

/// What the command line makes of --sframe-version and --flexible for one machine.
inline emit::Dialect dialect_of(sframe::Abi abi, const OutputFormat& format = {}) {
  return emit::make_dialect(format, abi, "test");
}

using sframe::Version;

inline constexpr OutputFormat v3{};
inline constexpr OutputFormat v3_flexible{.flexible = FlexibleDescriptors::Always};
inline constexpr OutputFormat v3_plain{.flexible = FlexibleDescriptors::Never};
inline constexpr OutputFormat v2{.version = Version::V2};
inline constexpr OutputFormat v2_without_outermost{.version = Version::V2, .undefined_ra_rows = false};
inline constexpr OutputFormat v2_from_section{
    .version = Version::V2, .pc_relative_starts = false, .undefined_ra_rows = false};
inline constexpr OutputFormat v1{.version = Version::V1};
inline constexpr OutputFormat ctf_frame{.version = Version::CtfFrame};

inline const emit::Dialect amd64_v3 = dialect_of(sframe::Abi::Amd64);

}  // namespace sframe_gen::test
