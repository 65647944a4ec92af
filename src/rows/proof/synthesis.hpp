#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cfi/rules.hpp"
#include "rows/proof/program.hpp"
#include "sframe_gen/counts.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// Code without CFI that was followed and has no row.
struct Lack {
  std::uint64_t begin = 0, end = 0;  ///< virtual addresses
  std::string_view reason;           ///< why its function is refused, or why this place has no row: "shared-code"
};

/// Makes rows of the proved states of functions that start outside of CFI, after prove_program(). A piece of a
/// function has a row at every PC, and goes on over padding inside of the function. PCs that CFI describes, and those
/// of `kept_out`, get no rows, nor do PCs that two functions share and give different rules. The pieces are ascending
/// and disjoint; `rules` get their rules. `lacking` gets code that was followed and has no row, ascending and disjoint.
void synthesize(Program& program, const RangeSet& kept_out, cfi::RuleTable& rules, std::vector<cfi::Function>& pieces,
                SynthesisCoverage& coverage, std::vector<Lack>& lacking);

}  // namespace sframe_gen::rows::proof
