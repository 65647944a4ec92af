#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sframe/abi.hpp"
#include "sframe/format.hpp"
#include "sframe/version.hpp"
#include "support/endian.hpp"

/// What a .sframe section says, free of how its bytes say it.
namespace sframe_gen::sframe {

/// base + offset, or *(base + offset): the recovery rule of section 3.2. A default descriptor's words are the same
/// rules: CFA = SP/FP + offset, FP = *(CFA + offset).
struct Rule {
  std::optional<std::uint32_t> base_register = std::nullopt;  ///< without a value: the CFA
  std::int32_t offset = 0;
  bool dereferenced = false;
  friend bool operator==(const Rule&, const Rule&) = default;
};

/// How to leave one frame.
struct Recovery {
  Rule cfa = {};
  std::optional<Rule> return_address = std::nullopt;  ///< without a value: the ABI's fixed place, or unchanged
  std::optional<Rule> frame_pointer = std::nullopt;   ///< without a value: unchanged
  bool mangled_ra = false;                            ///< aarch64: the return address is signed
  friend bool operator==(const Recovery&, const Recovery&) = default;
};

/// One frame row entry: from `pc_offset` to the next row, or to the end of the function or of the repeated block.
struct Row {
  std::uint32_t pc_offset = 0;  ///< bytes from the start of the function; with PcType::Mask, of the block
  std::optional<Recovery> recovery = std::nullopt;  ///< without a value: RA undefined, the outermost frame
  friend bool operator==(const Row&, const Row&) = default;
};

/// One function descriptor with its rows.
struct Function {
  std::uint64_t start = 0;  ///< virtual address
  std::uint32_t size = 0;   ///< bytes
  bool signal_frame = false;
  bool b_key = false;  ///< aarch64: return addresses are signed with key B
  PcType pc_type = PcType::Increment;
  /// Bytes of the repeated block with PcType::Mask; else 0. 0 with Mask too in CTF Frame and SFrame version 1, whose
  /// row starts are bit masks: a row holds for the PC offsets that have all of its bits set or more.
  std::uint8_t repeat_size = 0;
  DescriptorType type = DescriptorType::Default;
  std::vector<Row> rows;  ///< ascending by pc_offset
  friend bool operator==(const Function&, const Function&) = default;
};

/// A decoded section.
struct Section {
  std::uint64_t address = 0;  ///< virtual address of the section
  Endian endian = Endian::Little;
  Version version = Version::V3;
  std::uint8_t flags = 0;
  Abi abi = Abi::Amd64;
  std::int8_t fixed_fp_offset = 0;
  std::int8_t fixed_ra_offset = 0;
  std::vector<Function> functions;  ///< in the order of the index
};

}  // namespace sframe_gen::sframe
