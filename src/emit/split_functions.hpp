#pragma once

#include <vector>

#include "cfi/rules.hpp"
#include "emit/rule_table.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::emit {

/// What becomes of one function: descriptors for the PCs that SFrame can describe, holes for the rest. Together they
/// cover the function exactly.
struct Selected {
  std::vector<NumberedFde> fdes;
  std::vector<Hole> holes;
};

/// Lowers each row and splits functions around rows without a form, around PLT entries, and where a descriptor's
/// counts would overflow. One selector serves any number of functions, in one thread, and reuses its memory.
class Selector {
 public:
  /// `rules`, by whose numbers functions come, must outlive the selector.
  Selector(const Dialect& dialect, cfi::NumberedRules& rules)
      : dialect_(dialect), numbered_(rules), lowered_(dialect, rules) {}

  /// The result is valid until the next call.
  const Selected& select(const cfi::NumberedFrames& frames);
  const Selected& select(const cfi::FunctionFrames& frames) { return select(cfi::numbered(frames, numbered_)); }

  /// What the rows of the last result say.
  const RuleTable& rules() const { return lowered_.table(); }

 private:
  Dialect dialect_;
  cfi::NumberedRules& numbered_;
  LoweredRules lowered_;
  Selected selected_;
};

}  // namespace sframe_gen::emit
