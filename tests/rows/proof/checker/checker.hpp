#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "rows/proof/checker/listing.hpp"
#include "rows/proof/checker/transfer.hpp"

namespace sframe_gen::checker {

/// A claim that does not follow.
struct Fault {
  std::uint64_t function = 0, pc = 0;
  std::string fact;  ///< empty: it is none
  std::string reason;
};

/// What was judged, and what was believed.
struct Counts {
  std::uint64_t functions = 0, steps = 0, facts = 0, edges = 0;
  std::uint64_t bounded_tables = 0;    ///< whose entries are the targets; the bound itself is believed
  std::uint64_t unbounded_tables = 0;  ///< whose first entries are the targets; that no more count is believed
  std::uint64_t endless_calls = 0;     ///< calls that do not return
  std::uint64_t doubtful_endless = 0;  ///< those of them whose callee has a return in the listing
  std::uint64_t stores_believed_to_miss =
      0;                                   ///< that seem to hit saved registers, through pointers other than SP and FP
  std::uint64_t unknown_instructions = 0;  ///< that Capstone does not decode: believed to keep all that is claimed
};

/// Judges claims about the code of a file: whether they hold at the entry, and whether they hold after each instruction
/// if they hold before it. It follows nothing: claims that pass are true by induction.
///
/// It believes that calls keep what System V says (but for FP, where it can see the callee), that pointers other than
/// SP and FP reach no saved register, and that SP, where no number is known, is below all that is saved.
class Checker {
 public:
  /// The image must outlive it.
  explicit Checker(const elf::Image& image);

  /// Judges one function by itself. `Function` need not outlive it.
  void check(const Function& function);
  /// What can be judged when all functions are known.
  void finish();

  const Counts& counts() const { return counts_; }
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  class Judge;
  struct Call {
    std::uint64_t function, pc, target;
  };
  struct Known {
    bool returns = false, loses_frame_pointer = false;
    std::vector<std::uint64_t> tails;
  };
  /// The marks from a PC to the end of its range of code.
  std::span<std::uint8_t> marks_from(std::uint64_t pc);
  /// False: it overlaps another one.
  bool mark(std::uint64_t pc, unsigned size);
  void spread_lost_frame_pointers();

  const elf::Image& image_;
  Capstone capstone_, other_;                     ///< `other_`: for looking elsewhere meanwhile
  std::vector<std::vector<std::uint8_t>> marks_;  ///< of each byte of code: 1: an instruction begins; 2: goes on
  std::map<std::uint64_t, Known> known_;
  std::vector<Call> kept_frame_pointers_, endless_calls_, leaps_, short_leaps_;  ///< leaps: to other functions
  Counts counts_;
  std::vector<Fault> faults_;
};

}  // namespace sframe_gen::checker
