#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/seeded_hash.hpp"

namespace sframe_gen::trace {

/// What perf says of a recording besides its records: the machine, and the build-ids of files. HEADER_* of its
/// util/header.h.
class Features {
 public:
  Features(Origin origin, Endian endian) : origin_(std::move(origin)), endian_(endian) {}

  static bool is_wanted(std::uint64_t feature) { return feature == of_machine || feature == of_build_ids; }
  /// Others are none of ours. Throws MalformedInput, or Refused for a machine for which SFrame has no ABI.
  void add(std::uint64_t feature, std::span<const std::byte> bytes);
  /// Records of a header, a process, an ID and a path. Throws MalformedInput.
  void add_build_ids(std::span<const std::byte> bytes);

  const std::optional<sframe::Abi>& abi() const { return abi_; }
  /// By path, as digits.
  const SeededMap<std::string, std::string>& build_ids() const { return build_ids_; }

 private:
  static constexpr std::uint64_t of_build_ids = 2, of_machine = 6;

  void read_machine(std::span<const std::byte> bytes);

  Origin origin_;
  Endian endian_;
  std::optional<sframe::Abi> abi_;
  SeededMap<std::string, std::string> build_ids_;
};

}  // namespace sframe_gen::trace
