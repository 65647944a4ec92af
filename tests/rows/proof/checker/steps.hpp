#pragma once

#include <functional>
#include <optional>

#include "rows/proof/checker/listing.hpp"
#include "rows/proof/program.hpp"

/// The proof's claims, as the checker reads them.
namespace sframe_gen::checker {

/// What a proof of the file with its CFI claims: each function that is not refused.
void list_proved(const elf::Image& image, const std::function<void(const Function&)>& take,
                 rows::proof::ProofOptions options = {});
/// The claims about one function by the code as it is now; nothing if it is refused.
std::optional<Function> claims_of(rows::proof::Program& program, const rows::proof::FunctionProof& proof);
/// Those of all functions that are proved already.
void list_proved(rows::proof::Program& program, const std::function<void(const Function&)>& take);

}  // namespace sframe_gen::checker
