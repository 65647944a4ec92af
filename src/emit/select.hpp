#pragma once

#include <cstdint>
#include <vector>

#include "cfi/frame_source.hpp"
#include "emit/lowering_cache.hpp"
#include "emit/unrepresentable.hpp"
#include "sframe/section.hpp"

namespace sframe_gen::emit {

/// PCs of a function that no row covers.
struct Hole {
  std::uint64_t begin, end;  ///< virtual addresses
  Unrepresentable reason;
  friend bool operator==(const Hole&, const Hole&) = default;
};

/// What becomes of one function: descriptors for the PCs that SFrame can describe, holes for the rest. Together they
/// cover the function exactly.
struct Selected {
  std::vector<sframe::Function> functions;
  std::vector<Hole> holes;
};

/// Rows of one descriptor: sfda_func_num_fres has 16 bits (SFrame V3, section 2.3.2).
inline constexpr std::size_t largest_row_count = 65535;

/// Lowers each row and splits functions around rows without a form, around PLT entries, and where a descriptor's
/// counts would overflow. One selector serves any number of functions, in one thread, and reuses its memory.
class Selector {
 public:
  /// The result is valid until the next call.
  const Selected& select(const cfi::FunctionFrames& frames);

 private:
  LoweringCache cache_;
  Selected selected_;
};

/// For one function.
Selected select(const cfi::FunctionFrames& frames);

}  // namespace sframe_gen::emit
