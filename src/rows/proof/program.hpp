#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "rows/proof/conditions.hpp"
#include "rows/proof/data_pointers.hpp"
#include "rows/proof/decoder.hpp"
#include "rows/proof/function_proof.hpp"
#include "rows/proof/marks.hpp"
#include "rows/proof/state.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// What a proof covers, and how far it trusts tables.
struct ProofOptions {
  /// Functions begin as well where nothing but an address that is taken says so: in code without CFI. Where CFI
  /// describes code, its own starts suffice.
  bool proves_undescribed = false;
  /// Jump tables without a bound are not read by their contents.
  bool bounded_tables_only = false;
  /// What only doubtful paths show of CFI is told apart. Rows do not need it.
  bool tells_doubted_apart = true;
};

/// Whether CFI is that of a function's entry: CFA = rsp + 8.
bool begins_as_an_entry(const cfi::Rules& rules);

/// A linked file's code: what its functions share while they are proved (prove_program.hpp), one after the other.
class Program {
 public:
  /// `functions`: those of CFI, ascending; none hides the CFI from the proof. All must outlive the program.
  Program(const elf::Image& image, const Decoder& decoder, std::span<const cfi::Function> functions,
          const cfi::RuleTable& rules, ProofOptions options = {});

  const elf::Image& image() const { return image_; }
  const ProofOptions& options() const { return options_; }
  const Decoder& decoder() const { return decoder_; }
  const Imports& imports() const { return imports_; }
  const cfi::RuleTable& rules() const { return rules_; }
  CodeMarks& marks() { return marks_; }

  /// The function of CFI whose code holds `pc`; null: none.
  const cfi::Function* described(std::uint64_t pc) const;
  bool is_start(std::uint64_t pc) { return marks_.is_start(pc); }
  /// What a call to `target` changes, as far as is known by now. Makes it a function if it is none yet.
  CalleeEffect effect_of_call(std::uint64_t target);
  CalleeEffect effect_of(std::uint64_t target) const;
  /// Whether the function at `target` is known to return, and to have no other end: no caller can know that it does not
  /// come back.
  bool is_sure_to_return(std::uint64_t target) const;
  /// Makes the target of a jump at the end of a function one, if it is none yet.
  void add_tail(std::uint64_t target);
  /// The functions that a program begins with: those that the entry point calls, and where they go on by jumps.
  void add_of_begin(std::uint64_t start) { of_begin_.insert(start); }
  bool is_of_begin(std::uint64_t start) const { return of_begin_.contains(start); }
  /// Code with a frame goes to `target`, over no padding. False: it is sure to be a function. Else it is one no more,
  /// if only an address that is taken said so.
  bool is_label_after_all(std::uint64_t target);

  /// A function jumps to `pc` in code without CFI beyond its own: to a part that was split off. False: another one does
  /// so with another stack pointer.
  bool add_label(std::uint64_t pc, const Value& stack_pointer);
  /// Whether the label at `pc` is of functions that jump there with another stack pointer than this.
  bool is_anothers_label(std::uint64_t pc, const Value& stack_pointer);

  /// An instruction at `pc` would overlap another one that is reached.
  void note_overlap(std::uint64_t pc) { overlaps_.push_back(pc); }

  /// Code that a proof goes into: outside of CFI and of Go's tables, which know their functions better.
  bool is_undescribed(std::uint64_t pc) const;
  /// The code of a function, as far as is known by now: to the end of its FDE. Without one, to the next function or
  /// FDE.
  Range own_of(std::uint64_t start) const;
  /// How many steps may still be taken in all proofs: a number for each byte of code.
  std::uint64_t steps_left() const { return steps_left_; }
  /// Takes them, or those that are left.
  void spend(std::uint64_t steps) { steps_left_ -= std::min(steps, steps_left_); }

  /// The next address of data, after `address`, that any instruction takes: a table does not go on over it. As far as
  /// the last round has seen.
  std::optional<std::uint64_t> taken_after(std::uint64_t address) const;
  /// Notes what an instruction at `pc` takes the address of.
  void note_taken(std::uint64_t pc, const Instruction& instruction);

  const std::vector<FunctionProof>& functions() const { return functions_; }

 private:
  friend class Proving;

  /// The address of a place in code, and the instruction that takes it.
  struct TakenCode {
    std::uint64_t target = 0;
    std::uint64_t pc = 0;  ///< 0: data has it
  };

  bool is_split_part(std::uint64_t pc);
  /// Whether the proof goes into code at `pc`, which is no other world's.
  bool is_followed(std::uint64_t pc);
  void add_start(std::uint64_t pc, bool is_taken_only = false);
  void find_starts();
  bool add_taken_starts();
  bool is_taken_start(const TakenCode& taken);
  bool comes_after_padding(std::uint64_t pc) const;
  void sort_starts();
  void sort_taken();

  const elf::Image& image_;
  const Decoder& decoder_;
  std::span<const cfi::Function> described_;
  const cfi::RuleTable& rules_;
  ProofOptions options_;
  Imports imports_;
  elf::SymbolNames names_;
  CodeMarks marks_;
  RangeSet of_go_;                        ///< code of Go's functions
  std::vector<std::uint64_t> taken_;      ///< of data, ascending
  std::vector<std::uint64_t> new_taken_;  ///< of this round
  std::vector<TakenCode> taken_code_;     ///< since the last look at them
  std::vector<std::uint64_t> overlaps_;
  SeededMap<std::uint64_t, Value> labels_;  ///< what SP is there
  std::uint64_t steps_left_ = 0;
  std::optional<std::uint64_t> called_first_;  ///< by the entry point of every program; none: it is not here
  std::set<std::uint64_t> of_begin_;
  SeededMap<std::uint64_t, std::size_t> starts_;
  std::vector<std::uint64_t> sorted_starts_;  ///< as of the beginning of a round
  std::vector<FunctionProof> functions_;
};

}  // namespace sframe_gen::rows::proof
