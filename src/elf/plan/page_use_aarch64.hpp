#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elf/plan/code_references.hpp"
#include "elf/plan/instructions_aarch64.hpp"

namespace sframe_gen::elf::aarch64 {

/// Follows the page that ADRP forms to the instructions that make an address of it. Compilers schedule those away from
/// it, behind branches and at the heads of loops; the same register and low bits anywhere near would be found by chance
/// in one static program of a hundred.
class PageUse {
 public:
  explicit PageUse(const Words& words);

  /// Whether an instruction that is reached from the ADRP at the index, with the page still in its register, makes an
  /// address in `wanted` of it. Where a register says what is reached, any instruction near counts. Also true where
  /// ADRPs have had more followed than eight times the code, or more looked at near them than 64 times the code
  /// and what is near 1,024 of them: that bounds time.
  bool makes_address(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);

 private:
  enum class Reached { No, Yes, Unknown };

  Reached follow(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);
  bool is_made_nearby(std::size_t adrp, std::uint64_t page, const AddressRange& wanted);

  const Words words_;
  std::size_t budget_;                ///< instructions that may yet be followed
  std::size_t near_budget_;           ///< instructions near ADRPs that may yet be looked at
  std::vector<bool> is_seen_;         ///< per instruction, in this search
  std::vector<std::size_t> seen_;     ///< those that are
  std::vector<std::size_t> pending_;  ///< where paths begin that have not been followed
};

}  // namespace sframe_gen::elf::aarch64
