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

/// Returns code that may be stubs in a file without section headers, which would name them; nothing for other files:
///
///   * code that has rows though none of `fdes` describes it, except padding that rows go on over
///   * rows that repeat
///   * `tables`, which FDEs describe by the PC
///   * small functions next to these, such as the header of a table
///
/// Instructions tell what the code does. It has at most a megabyte, as following it takes thirty times its size in
/// memory.
std::vector<Range> code_to_follow(const sframe::Section& section, const elf::Image& image,
                                  const std::vector<Range>& fdes, const std::vector<Range>& tables);

/// Bytes that may be between the code of stubs which belong together: padding, and what is entered in several states.
inline constexpr std::uint64_t largest_gap_in_stubs = 32;
/// Bytes of a program's entry code, up to the call that does not return.
inline constexpr std::uint64_t longest_start = 64;

/// A worklist data-flow analysis (Kildall 1973) of code so plain that its instructions say where the caller is. A state
/// is how far the stack pointer has come and which registers are saved; states that meet and differ become a conflict.
///
/// The code is that of stubs, and of what programs start and end with. It is also the code by which the kernel enters a
/// program, up to the call that does not come back, if it rounds the stack pointer down before: nothing called it.
/// Control enters as calls enter functions: at the beginning of a section, and after an instruction that does not go on
/// to the next. The target of a jump within a section has the state of the jump, and no other.
class Emulation {
 public:
  /// `more`: code to follow like such a section, in a file without section headers. A range of it may hold what several
  /// sections held: a stub begins at each of `starts`, ascending, whatever is before it.
  Emulation(const elf::Image& image, const sframe::AbiTraits& abi, std::span<const Range> more = {},
            std::span<const std::uint64_t> starts = {});

  /// Kinds of knowledge about a PC.
  enum class Knowledge : std::uint8_t {
    None,          ///< it is elsewhere, after an instruction that is not known, or reached in several states
    Unreachable,   ///< padding that control never comes to: any row is as good as another
    NeverEntered,  ///< in the header of a table, and bytes after a jump that are no known instruction: so is any there,
                   ///< but call frame information may judge
    State,
  };
  Knowledge knowledge_of(std::uint64_t pc) const;
  /// Returns the caller at a PC with a state.
  Caller caller_at(std::uint64_t pc) const;
  /// Returns the first PC above `pc` of which something else may be known.
  std::uint64_t boundary_after(std::uint64_t pc) const;

 private:
  struct State {
    std::int64_t pushed = 0;     ///< bytes since the entry
    bool address_saved = false;  ///< in memory, where saved_address_offset() says
    bool record_saved = false;   ///< aarch64: the address and, in the word under it, x29
    bool is_signed = false;
    bool has_caller = true;
    friend bool operator==(const State&, const State&) = default;
  };
  /// An instruction, or bytes between two of them, and the states that control comes in.
  struct Place {
    MachineInstruction instruction;
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
  static std::optional<State> state_after(const MachineInstruction& instruction, State state);
  std::int64_t saved_address_offset() const;
  const Place* place_of(std::uint64_t pc) const;

  const sframe::AbiTraits& abi_;
  bool knows_sections_;
  std::map<std::uint64_t, Place> places_;  ///< by address
  std::set<std::uint64_t> targets_;
  std::vector<std::uint64_t> work_;
};

}  // namespace sframe_gen::verify
