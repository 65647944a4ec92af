#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cfi/frame_source.hpp"
#include "emit/dialect.hpp"
#include "emit/split_functions.hpp"
#include "sframe_gen/coverage.hpp"
#include "stubs/recognize.hpp"

namespace sframe_gen::convert {

/// Lowers functions in the order in which they come, and stubs among them. Of a stub, call frame
/// information only counts as something to compare with: the rows come from the instructions. In a section of stubs,
/// whatever is none of those that are known gets no rows, whatever is said of it.
class StubMerge {
 public:
  using Put = std::function<void(const emit::Selected&, const emit::RuleTable&)>;
  /// The stubs from `begin` up to `end`; what is selected goes to `put`, in order. Functions come by numbers of
  /// `rules`, which are the selector's.
  StubMerge(const stubs::Found& found, std::uint64_t begin, std::uint64_t end, const emit::Dialect& dialect,
            const cfi::NumberedRules& rules, emit::Selector& selector, Put put, Coverage& coverage);

  void add(const cfi::NumberedFrames& frames);
  /// Adds the stubs behind the last function. Call it last.
  void finish();

 private:
  void add_stubs_before(std::uint64_t address);
  void add_stub();
  void add_among_stubs(const cfi::FunctionFrames& frames);
  void compare(const cfi::FunctionFrames& frames, const stubs::Run& run);
  void add_outside(const cfi::FunctionFrames& frames, std::uint64_t begin, std::uint64_t end, emit::Selected& all);

  std::span<const stubs::Run> runs_;  ///< those that are not added yet
  std::span<const Range> sections_;
  const stubs::Run* last_ = nullptr;  ///< the one added last
  const emit::Dialect& dialect_;
  const cfi::NumberedRules& rules_;
  emit::Selector& selector_;
  Put put_;
  Coverage& coverage_;
};

}  // namespace sframe_gen::convert
