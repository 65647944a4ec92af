#pragma once

#include <cstdint>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/format.hpp"

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

}  // namespace sframe_gen::emit
