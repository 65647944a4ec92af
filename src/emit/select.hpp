#pragma once

#include <cstdint>
#include <vector>

#include "cfi/frame_source.hpp"
#include "emit/lowering_cache.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

/// What becomes of one function: descriptors for the PCs that SFrame can describe, holes for the rest. Together they
/// cover the function exactly.
struct Selected {
  std::vector<sframe::Fde> fdes;
  std::vector<Hole> holes;
};

/// Lowers each row and splits functions around rows without a form, around PLT entries, and where a descriptor's
/// counts would overflow. One selector serves any number of functions, in one thread, and reuses its memory.
class Selector {
 public:
  explicit Selector(const Dialect& dialect) : dialect_(dialect), cache_(dialect) {}

  /// The result is valid until the next call.
  const Selected& select(const cfi::FunctionFrames& frames);

 private:
  Dialect dialect_;
  LoweringCache cache_;
  Selected selected_;
};

/// For one function.
Selected select(const cfi::FunctionFrames& frames, const Dialect& dialect);

}  // namespace sframe_gen::emit
