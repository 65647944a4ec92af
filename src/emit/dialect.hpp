#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "cfi/rules.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/reasons.hpp"
#include "sframe_gen/section.hpp"

/// What a section can say, by its ABI, its version and its readers, and rules in its words.
namespace sframe_gen::emit {

/// What one section may say: ABI, version and its readers' habits.
struct Dialect {
  const sframe::AbiTraits* abi = &sframe::amd64_traits;
  const sframe::VersionTraits* version = nullptr;
  bool pc_relative_starts = true;
  bool undefined_ra_rows = true;
  bool flexible_descriptors = true;
  std::uint32_t compact_rows = 0;        ///< of a descriptor of a compact section; 0: each function as GNU as writes it
  std::uint32_t most_rows = UINT32_MAX;  ///< of a descriptor
  bool covers_padding = true;            ///< descriptors go on over the padding after a function
  bool shares_rows = true;               ///< in a compact section, descriptors may have one block of rows together
};

/// Throws Refused, naming `file`, where the version has no identifier for the ABI (s390x came with version 2).
Dialect make_dialect(const OutputFormat& format, sframe::Abi abi, const std::string& file);

/// Why a default descriptor cannot hold the row (sections 3.1.1 to 3.1.3; the shorter repertoire of older versions).
/// No value: it can.
std::optional<Unrepresentable> why_not_default(const sframe::RecoveryRules& recovery, const Dialect& dialect);

/// RA undefined: the outermost frame.
struct Outermost {
  friend bool operator==(const Outermost&, const Outermost&) = default;
};

/// What SFrame has for cfi::PltStub: rows of each entry, up to the push and from there on.
struct PltEntries {
  sframe::RecoveryRules before, after;
  std::uint8_t threshold = 0;  ///< bytes from the start of an entry
  friend bool operator==(const PltEntries&, const PltEntries&) = default;
};

/// What SFrame has for the rules of one row of the unwind table, or why it has nothing.
using Representation = std::variant<sframe::RecoveryRules, Outermost, PltEntries, Unrepresentable>;

/// Represents rules (SFrame V3, chapter 3). Whether a function is a signal frame or signs with the B key is not the
/// row's concern.
Representation represent(const cfi::Rules& rules, const Dialect& dialect);

}  // namespace sframe_gen::emit
