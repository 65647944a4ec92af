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

  struct Entry {
    cfi::Rules rules;
    Lowered lowered;
    bool fits_default;  ///< a default descriptor can hold the row, where it is one
  };

  /// As emit::lower. The result is valid until the next call.
  const Entry& lower(const cfi::Rules& rules);

 private:
  Dialect dialect_;
  std::vector<Entry> slots_;
};

}  // namespace sframe_gen::emit
