#pragma once

#include <vector>

#include "cfi/frame_row.hpp"
#include "emit/lower.hpp"

namespace sframe_gen::emit {

/// Remembers how recent rules lowered: a file's millions of rows say a few hundred different things. Halves the time
/// of lowering libLLVM.
class LoweringCache {
 public:
  explicit LoweringCache(const Dialect& dialect);

  /// As emit::lower. The result is valid until the next call.
  const Lowered& lower(const cfi::Rules& rules);

 private:
  struct Slot {
    cfi::Rules rules;
    Lowered lowered;
  };
  Dialect dialect_;
  std::vector<Slot> slots_;
};

}  // namespace sframe_gen::emit
