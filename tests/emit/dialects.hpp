#pragma once

#include "emit/dialect.hpp"

namespace sframe_gen::test {

/// What the command line makes of --sframe-version and --flexible for one machine.
inline emit::Dialect dialect_of(sframe::Abi abi, const emit::OutputFormat& format = {}) {
  return emit::make_dialect(format, abi, "test");
}

inline const emit::Dialect amd64_v3 = dialect_of(sframe::Abi::Amd64);

}  // namespace sframe_gen::test
