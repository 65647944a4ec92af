#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "support/range.hpp"
#include "verify/caller.hpp"
#include "verify/instruction.hpp"

namespace sframe_gen::verify {

/// Where section headers do not name the stubs: what has rows though none of `fdes` describes it, of a compact section
/// but for the padding that it goes on over; rows that repeat; `tables`, which FDEs describe by the PC, entry by entry;
/// and what is small and next to those, the header for one. What it does is for the instructions to say. No more than a
/// megabyte, as following them takes thirty times their size in memory. Nothing for a file with section headers.
std::vector<Range> code_to_follow(const sframe::Section& section, const elf::Image& image,
                                  const std::vector<Range>& fdes, const std::vector<Range>& tables);

/// Bytes that may be between the code of stubs which belong together: padding, and what is entered in several states.
inline constexpr std::uint64_t largest_gap_in_stubs = 32;
/// Bytes of a program's entry code, up to the call that does not return.
inline constexpr std::uint64_t longest_start = 64;

/// Sections whose code is so plain that following its instructions says where the caller is: stubs, and what programs
/// start and end with; and what the kernel enters a program by, up to the call that does not come back, if it rounds
/// the stack pointer down before: nothing called it. Control enters them as calls enter functions: at their beginnings,
/// and after whatever does not go on to the next instruction. What a jump within a section leads to has the state of
/// the jump, and no other.
class Emulation {
 public:
  /// `more`: code that is to be followed like such a section, where a file has no section headers. There, what several
  /// sections held may stand in one range: a stub begins at each of `starts`, ascending, whatever is before it.
  Emulation(const elf::Image& image, const sframe::AbiTraits& abi, std::span<const Range> more = {},
            std::span<const std::uint64_t> starts = {});

  /// What is known of a PC.
  enum class Knowledge : std::uint8_t {
    None,          ///< it is elsewhere, after an instruction that is not known, or reached in several states
    Unreachable,   ///< padding that control never comes to: any row is as good as another
    NeverEntered,  ///< in the header of a table, and bytes after a jump that are no known instruction: so is any there,
                   ///< but call frame information may judge
    State,
  };
  Knowledge knowledge_of(std::uint64_t pc) const;
  /// The caller at a PC with a state.
  Caller caller_at(std::uint64_t pc) const;
  /// The first PC above `pc` of which something else may be known.
  std::uint64_t boundary_after(std::uint64_t pc) const;

 private:
  struct State {
    std::int64_t pushed = 0;     ///< bytes since the entry
    bool address_saved = false;  ///< in memory, where saved_address_offset() says
    bool record_saved = false;   ///< aarch64: the same, and x29 in the word below
    bool is_signed = false;
    bool has_caller = true;
    friend bool operator==(const State&, const State&) = default;
  };
  /// An instruction, or bytes between two of them, and the states that control comes in.
  struct Place {
    Instruction instruction;
    bool is_code = false;
    bool is_entry = false;
    bool is_start = false;   ///< the kernel enters there
    bool is_header = false;  ///< of a table whose entries jump to it: it is not called
    bool is_last = false;    ///< of its section, which control leaves by jumps only
    bool conflict = false;
    std::optional<State> state = {};
  };

  void read_section(std::uint64_t address, std::span<const std::byte> code, bool has_header,
                    std::span<const std::uint64_t> starts = {});
  void read_start(const elf::Image& image);
  void forget_long_padding(const Range& range);
  void follow();
  void follow_arrivals();
  void arrive(std::uint64_t pc, const State& state);
  void leave(std::uint64_t pc, const Place& place);
  static bool goes_on(const Place& place);
  static std::optional<State> behind(const Instruction& instruction, State state);
  std::int64_t saved_address_offset() const;
  const Place* place_of(std::uint64_t pc) const;

  const sframe::AbiTraits& abi_;
  bool knows_sections_;
  std::map<std::uint64_t, Place> places_;  ///< by address
  std::set<std::uint64_t> targets_;
  std::vector<std::uint64_t> work_;
};

}  // namespace sframe_gen::verify
