#pragma once

#include <cstdint>
#include <vector>

#include "rows/proof/listing.hpp"
#include "rows/proof/paths.hpp"
#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

/// So that not each byte of a hostile file has one, which takes 80 bytes.
constexpr std::uint64_t steps_per_disagreement = 16;

/// Compares CFI with what holds before an instruction, and notes in the proof where it is wrong. `before`: the
/// instruction that leads there; 0: none.
void compare_with_cfi(Program& program, const cfi::Function& described, const Range& pcs, std::uint64_t before,
                      const State& state, FunctionProof& proof);

/// Where CFI counts the CFA wrong between the entry and the first jump or call: nothing but the entry counts there.
std::vector<Disagreement> disagreements_on_the_way_in(Program& program, const FunctionProof& function);

/// Which of the calls, after which paths go on, may be ones that do not return: those where no code that only the call
/// leads to goes on to an end. A call reaches from its first byte to the next instruction.
std::vector<std::uint64_t> calls_that_may_not_return(const std::vector<Range>& calls, const Listing& listing,
                                                     const WaysOut& ways_out);

/// Moves what is in doubt from `disagreements` to `doubted`. `sure`: what CFI says wrongly on paths without calls that
/// may not return. What a function shows of shared code is in doubt as well, if it jumps there with another CFA: a
/// compiler makes such a jump only if it is never taken.
void tell_doubted_apart(const Program& program, const Paths& paths, const std::vector<Disagreement>& sure,
                        FunctionProof& proof);

}  // namespace sframe_gen::rows::proof
