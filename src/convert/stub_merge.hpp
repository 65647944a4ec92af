#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cfi/rules.hpp"
#include "emit/rule_table.hpp"
#include "emit/split_functions.hpp"
#include "sframe_gen/coverage.hpp"
#include "stubs/recognize.hpp"

namespace sframe_gen::convert {

/// Lowers functions and the stubs among them, in ascending order. The rows of a stub come from its instructions; call
/// frame information about it is only compared with them. Any other code in a section of stubs gets no rows.
class StubMerge {
 public:
  using Put = std::function<void(const emit::SplitFunction&)>;
  /// For the stubs that start in [begin, end), and the functions there. What functions and stubs become goes to `put`,
  /// in order, and is counted.
  StubMerge(const stubs::Found& found, std::uint64_t begin, std::uint64_t end, emit::RuleTable& rules, Put put,
            Coverage& coverage);

  void add(const cfi::Function& function);
  /// Adds the stubs after the last function. Call it last.
  void finish();

 private:
  void add_stubs_before(std::uint64_t address);
  void add_stub(const stubs::Run& run);
  std::uint64_t next_stubs(std::uint64_t address) const;
  void add_outside(const cfi::Function& function, std::uint64_t begin, std::uint64_t end, emit::SplitFunction& all);
  void compare(const cfi::Function& function, const stubs::Run& run);
  const emit::SplitFunction& put_split(const cfi::Function& function);

  const stubs::Found& found_;
  std::span<const stubs::Run> left_;  ///< the stubs of [begin, end) that are not added yet
  emit::RuleTable& rules_;
  Put put_;
  Coverage& coverage_;
  emit::SplitFunction split_;
  std::uint64_t stubs_begin_ = 0;  ///< no stub, nor section of stubs, is before it from the last function on
};

}  // namespace sframe_gen::convert
