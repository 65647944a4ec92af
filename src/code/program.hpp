#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cfi/rules.hpp"
#include "code/conditions.hpp"
#include "code/decoder.hpp"
#include "code/effect.hpp"
#include "code/imports.hpp"
#include "code/refusal.hpp"
#include "elf/image.hpp"
#include "elf/symbol_names.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::code {

/// PCs where CFI and a proved state differ.
struct Disagreement {
  enum class Column : std::uint8_t { Cfa, ReturnAddress, FramePointer };
  Range pcs;
  Column column = Column::Cfa;
  std::uint64_t instruction =
      0;                 ///< that decides it: the last one before, or the jump there, on the path that came first
  cfi::RuleId rule = 0;  ///< what CFI says
  Value base{};          ///< what the register of CFI's CFA holds, or FP
};

/// What is known of one function.
struct FunctionProof {
  std::uint64_t start = 0;  ///< virtual address
  Range own;                ///< its code: from its start to the end of its FDE
  Refusal refusal = Refusal::None;
  std::uint64_t refused_at = 0;  ///< the PC of the instruction
  CalleeEffect effect;           ///< on callers
  bool has_return = false;       ///< as at the entry
  bool has_sure_return = false;  ///< and no call on the way there may be one that does not return
  bool has_own_end = false;      ///< a return or a last jump, where State::may_be_another is false
  bool has_indirect_tail = false;
  bool has_imported_tail = false;               ///< it ends by jumping to a function of another file
  bool has_endless_end = false;                 ///< a path ends where the program ends, or by longjmp
  bool has_split_parts = false;                 ///< it jumps to code without CFI beyond its own
  bool jumps_without_frame_pointer = false;     ///< to another function, where `rbp` may not hold the caller's
  bool begins_without_frame_pointer = false;    ///< where such a jump may lead
  bool is_taken_only = false;                   ///< an address that is taken is all that says a function starts here
  bool jumps_inside_another = false;            ///< to a place in another function that is not its start
  std::vector<std::uint64_t> unbounded_tables;  ///< addresses of those that were read by their contents
  std::vector<std::uint64_t> tails;             ///< functions that it ends by jumping to
  std::vector<std::uint64_t> callees;           ///< that it calls directly, each once
  std::uint64_t steps = 0;                      ///< that its proof took
  std::uint64_t compared_bytes = 0;             ///< of instructions whose rows of CFI were compared
  std::vector<Disagreement> disagreements;      ///< of a function that is refused: on the way in
  std::vector<Disagreement> doubted;            ///< others, on paths that may be none
};

/// Marks of each byte of code: 1: a reached instruction starts there; 2: there is another byte of one; 4: a function
/// starts there; 8: and is called, or has a symbol; 16: code with a frame jumps there, so that it is a label; 32: code
/// outside of the FDE that describes it calls it; 64: its address is taken by data, or by another function; 128: a
/// function comes there from outside of its own code, and CFI is right.
class CodeMarks {
 public:
  /// Of the code that has bytes in the file.
  explicit CodeMarks(const elf::Image& image);
  /// False, without a mark, where instructions would overlap.
  bool mark(std::uint64_t pc, unsigned size);
  void mark_start(std::uint64_t pc);
  void mark_sure_start(std::uint64_t pc);
  bool is_sure_start(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 8U) != 0; }
  bool is_start(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 4U) != 0; }
  bool is_reached(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 3U) != 0; }
  void mark_called_from_outside(std::uint64_t pc);
  bool is_called_from_outside(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 32U) != 0; }
  void mark_taken(std::uint64_t pc);
  bool is_taken(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 64U) != 0; }
  void mark_agreed(std::uint64_t pc);
  bool is_agreed(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 128U) != 0; }
  /// It is a start no more, and is_label() from now on.
  void mark_label(std::uint64_t pc);
  bool is_label(std::uint64_t pc) { return !from(pc).empty() && (from(pc)[0] & 16U) != 0; }
  /// Bytes of all code.
  std::uint64_t size() const;
  /// Bytes of reached instructions in a range of code.
  std::uint64_t reached(const Range& range) const;

 private:
  /// The marks from `pc` on, to the end of its range of code; empty outside.
  std::span<std::uint8_t> from(std::uint64_t pc);
  std::vector<Range> code_;  ///< ascending
  std::size_t last_ = 0;     ///< the range that was asked for last
  std::vector<std::vector<std::uint8_t>> marks_;
};

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

struct Standing;

/// A linked file's code: what its functions share while they are proved, one after the other.
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
  /// Code with a frame goes to `target`, over no padding. False: it is sure to be a function. Else it is one no more,
  /// if only an address that is taken said so.
  bool is_label_after_all(std::uint64_t target);

  /// A function jumps to `pc` in code without CFI beyond its own: to a part that was split off. False: another one does
  /// so with another stack pointer.
  bool add_label(std::uint64_t pc, const Value& stack_pointer);
  /// Whether a function has jumped there with another stack pointer.
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

  using Progress = std::function<void(std::uint64_t, std::uint64_t)>;
  /// Proves all functions. `progress` is called with functions done and in all.
  void prove(const Progress& progress);
  const std::vector<FunctionProof>& functions() const { return functions_; }

 private:
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
  void prove_new(std::size_t from, const Progress& progress);
  void prove_at(std::size_t i);
  void prove_taken(const Progress& progress);
  void prove_again(const Progress& progress);
  bool add_taken_starts();
  bool is_taken_start(const TakenCode& taken);
  bool comes_after_padding(std::uint64_t pc) const;
  void sort_starts();
  void sort_taken();
  Standing standing_of(std::uint64_t start);
  /// Of two ways to read the same bytes of code without CFI, none is known to be right.
  void refuse_overlapped();
  /// No row is right for those who call a function and for those who jump to it with another `rbp` than their caller's.
  void refuse_entered_without_frame_pointer();
  /// A function that is refused was not followed to its end, but what holds on the way in does not depend on it.
  void compare_ways_in();
  /// Where a function comes to code that others share, and CFI is right for one of those, its own jump there may never
  /// be taken.
  void doubt_what_others_agree_on();

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
  SeededMap<std::uint64_t, std::size_t> starts_;
  std::vector<std::uint64_t> sorted_starts_;  ///< as of the beginning of a round
  std::vector<FunctionProof> functions_;
};

}  // namespace sframe_gen::code
