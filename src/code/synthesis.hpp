#pragma once

#include <vector>

#include "cfi/rules.hpp"
#include "code/program.hpp"
#include "sframe_gen/coverage.hpp"
#include "support/range.hpp"

namespace sframe_gen::code {

/// Makes rows of the proved states of functions that start outside of CFI, after Program::prove(). A piece of a
/// function has a row at every PC, and goes on over padding inside of the function. PCs that CFI describes, and those
/// of `kept_out`, get no rows, nor do PCs that two functions share and give different rules. The pieces are ascending
/// and disjoint; `rules` get their rules.
void synthesize(Program& program, const RangeSet& kept_out, cfi::RuleTable& rules, std::vector<cfi::Function>& pieces,
                SynthesisCoverage& coverage);

}  // namespace sframe_gen::code
