#pragma once

#include <stdexcept>
#include <string>

#include "cfi/formulas.hpp"
#include "emit/dialect.hpp"
#include "emit/dialects.hpp"
#include "sframe_gen/coverage.hpp"

/// Rules as a person writes them, and what becomes of them.
namespace sframe_gen::test {

/// The rules at a function's entry by the ABI; tests change one or two.
inline cfi::Rules entry_rules(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return {reg(7, 8), cfi::Unspecified{}, cfi::Unspecified{}, at_cfa(-8)};
    case sframe::Abi::Aarch64Little:
    case sframe::Abi::Aarch64Big:
      return {reg(31, 0), {}, {}, {}};
    case sframe::Abi::S390x:
      return {reg(15, 160), {}, {}, {}};
  }
  return {};
}

/// "default" or "flexible" by the descriptor that the row takes; "no words" for the outermost frame; "plt"; or the key
/// of the reason.
inline std::string form_of(const cfi::Rules& rules, const emit::Dialect& dialect) {
  const emit::Representation represented = emit::represent(rules, dialect);
  if (const auto* reason = std::get_if<Unrepresentable>(&represented)) return std::string(key_of(*reason));
  if (std::holds_alternative<emit::Outermost>(represented)) return "no words";
  if (std::holds_alternative<emit::PltEntries>(represented)) return "plt";
  return emit::why_not_default(std::get<sframe::RecoveryRules>(represented), dialect) ? "flexible" : "default";
}

/// What SFrame says of rules that it can say.
inline sframe::RecoveryRules recovery_of(const cfi::Rules& rules, const emit::Dialect& dialect) {
  const emit::Representation represented = emit::represent(rules, dialect);
  const auto* recovery = std::get_if<sframe::RecoveryRules>(&represented);
  if (recovery == nullptr) throw std::logic_error("has no recovery, but: " + form_of(rules, dialect));
  return *recovery;
}

}  // namespace sframe_gen::test
