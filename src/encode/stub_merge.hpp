#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cfi/frame_source.hpp"
#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "emit/split_functions.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/reasons.hpp"
#include "support/range.hpp"

namespace sframe_gen::encode {

/// Puts the stubs of a file among its functions, in ascending order. The rows of a stub come from its instructions;
/// call frame information about it is only compared with them. Any other code in a section of stubs gets no rows.
class StubMerge {
 public:
  /// Encodes what is next, and returns what has become of it: valid until the next call.
  using Encode = std::function<const emit::SplitFunction&(const cfi::Function&)>;
  /// For the stubs that start in `pcs`, and the functions there. `rules` get those of stubs. What functions and stubs
  /// become is counted.
  StubMerge(const rows::stubs::StubList& found, Range pcs, cfi::RuleTable& rules, const emit::Dialect& dialect,
            Encode encode, Coverage& coverage);

  /// Returns whether a stub, or a section of stubs, is in the function or before it. Of most functions it is not, and
  /// these need no call of add().
  bool affect(const cfi::Function& function) const { return function.end() > next_; }
  /// Encodes the stubs before the function, the function around stubs, and stubs in it.
  void add(const cfi::Function& function);
  /// Encodes the stubs after the last function. Call it last.
  void finish();

 private:
  void add_stubs_before(std::uint64_t address);
  void add_stub(const rows::stubs::StubRun& run);
  std::uint64_t next_stubs(std::uint64_t address) const;
  void add_outside(const cfi::Function& function, std::uint64_t begin, std::uint64_t end, emit::SplitFunction& all);
  void compare(const cfi::Function& function, const rows::stubs::StubRun& run);

  const rows::stubs::StubList& found_;
  std::span<const rows::stubs::StubRun> left_;  ///< the stubs that are not added yet
  cfi::RuleTable& rules_;
  const emit::Dialect& dialect_;
  Encode encode_;
  Coverage& coverage_;
  std::uint64_t next_ = 0;  ///< no stub that is left, nor section of stubs, is before it from the last function on
};

/// Returns the stubs but for those that begin inside a function, by its CFI. Without section headers, stubs are looked
/// for in all code, and a function may contain what looks like one.
rows::stubs::StubList without_code_of_functions(rows::stubs::StubList found, const cfi::FrameSource& source);

/// The function without the rows of GNU ld's expression for a PLT, which says nothing of entries that are not known.
cfi::Function without_unknown_stubs(const cfi::Function& function, cfi::RuleTable& rules);

}  // namespace sframe_gen::encode
