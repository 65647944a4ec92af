#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cfi/rules.hpp"
#include "code/decoder.hpp"
#include "code/program.hpp"
#include "elf/image.hpp"

namespace sframe_gen::stepping {

/// What src/code proves of a file's functions, CFI or not, as rows.
class ProvedRows {
 public:
  /// Proves all. What it is given must outlive it.
  ProvedRows(const elf::Image& image, std::span<const cfi::Function> functions, const cfi::RuleTable& rules);

  /// Nothing where no proved function has an instruction, or what is proved is not enough for a row.
  std::optional<cfi::Rules> at(std::uint64_t address);

 private:
  void read_function_of(std::uint64_t address);

  code::Decoder decoder_;
  code::Program program_;
  std::vector<code::FunctionProof> proofs_;  ///< that are not refused, ascending
  std::vector<bool> is_read_;                ///< of each
  std::unordered_map<std::uint64_t, cfi::Rules> rows_;
};

}  // namespace sframe_gen::stepping
