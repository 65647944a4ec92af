#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cfi/rules.hpp"
#include "code/step/proved_rows.hpp"
#include "code/step/shadow_stack.hpp"
#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "sframe/pc_rows.hpp"

namespace sframe_gen::stepping {

/// What a row has been found to be.
enum class Verdict : std::uint8_t {
  None,  ///< there is no row
  Right,
  Unknown,    ///< it cannot be evaluated here: an expression, or a register that is not followed
  Outermost,  ///< there is no caller, it says
  /// The function is leaving otherwise than to its caller, as longjmp() and the unwinder do: it has replaced its return
  /// address, or the row looks for one elsewhere than where the call has stored it. Such a row is of a context to come.
  Elsewhere,
  Unkept,    ///< another frame pointer than the call's, in a function of OCaml, whose functions do not keep it
  WrongCfa,  ///< so is where it looks for the return address
  WrongFramePointer,
};
constexpr std::size_t verdict_count = 8;
constexpr bool is_wrong(Verdict verdict) {
  return verdict >= Verdict::WrongCfa;
}
const char* name_of(Verdict verdict);

/// What is known of one instruction of a file, and what stepping has found.
struct SteppedPc {
  std::uint64_t address = 0;   ///< virtual
  std::uint64_t function = 0;  ///< where CFI's function begins that has it; 0: none
  std::optional<cfi::Rules> cfi, section, proof;
  InstructionKind kind = InstructionKind::Other;
  bool keeps_frame_pointer = true;  ///< as System V asks of a function
  std::uint64_t steps = 0, judged = 0;
  std::array<std::uint64_t, verdict_count> by_cfi{}, by_section{}, by_proof{};
};

/// A file of the stepped program: its rows by its CFI, and by the .sframe of a converted copy.
class FileRows {
 public:
  /// `converted`: the copy; without one the file's own section counts, if it has one.
  /// `proves`: what src/code proves is looked up as well.
  FileRows(const std::filesystem::path& file, const std::filesystem::path& converted, bool proves);

  const elf::Image& image() const { return image_; }
  bool has_section() const { return !rows_.empty(); }
  SteppedPc& at(std::uint64_t address);
  const std::unordered_map<std::uint64_t, SteppedPc>& pcs() const { return pcs_; }
  /// "main+0x3", or the address without a symbol.
  std::string place_of(std::uint64_t address);

 private:
  void read_cfi();
  void read_section(const std::filesystem::path& converted);
  const cfi::Function* function_at(std::uint64_t address) const;
  bool is_of_ocaml(std::uint64_t address);

  elf::Image image_;
  elf::SymbolNames names_;
  cfi::RuleTable rules_;
  std::vector<cfi::Function> functions_;  ///< of CFI, ascending
  std::vector<sframe::PcRow> rows_;       ///< of the section
  std::unique_ptr<ProvedRows> proved_;    ///< null: not asked for
  std::unordered_map<std::uint64_t, SteppedPc> pcs_;
};

/// Judges the rules of an instruction, before it executes, by the call that has led to it.
Verdict judge(const cfi::Rules& rules, const SteppedPc& pc, const SteppedThread& thread, const Call& call);

}  // namespace sframe_gen::stepping
