#pragma once

#include <cstdint>
#include <functional>

#include "rows/proof/program.hpp"

namespace sframe_gen::rows::proof {

/// Called with functions done and in all.
using ProofProgress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Proves all functions of a program that are known, and those that they lead to.
void prove_program(Program& program, const ProofProgress& progress);

}  // namespace sframe_gen::rows::proof
