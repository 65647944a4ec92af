#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "support/range.hpp"
#include "verify/caller.hpp"

namespace sframe_gen::verify {

/// Callers by the function table of a Go program. This is a second reading of the table, and shares nothing with
/// src/rows/go, whose rows it judges.
///
/// The table says how far SP has come. Where the frame pointer is follows from the instructions at the addresses where
/// the table says that a frame begins.
class GoFrames {
 public:
  GoFrames(const elf::Image& image, const sframe::AbiTraits& abi);

  bool empty() const { return functions_.empty(); }
  /// Adds the code that the table tells of.
  void add_ranges(std::vector<Range>& ranges) const;

  /// Returns where functions begin, ascending. Of some the table tells nothing else.
  const std::vector<std::uint64_t>& starts() const { return starts_; }

  struct Answer {
    std::uint64_t end = 0;         ///< up to where it holds
    std::optional<Caller> caller;  ///< none: no row can be right
    bool is_called_by_handler = false;
    std::string why_none;
  };
  /// Returns what the table tells of `pc`; no value for a PC that it does not tell of.
  std::optional<Answer> answer_at(std::uint64_t pc) const;
  /// Returns the lowest start or end of a function above `pc`; the highest address if there is none.
  std::uint64_t boundary_after(std::uint64_t pc) const;

  /// A range of addresses over which SP stays where it is.
  struct Frame {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size = 0;        ///< bytes between SP and its value at the function's entry
    std::uint64_t saved_from = 0;  ///< address from which on the frame pointer is in the frame, if it ever is
  };
  struct Function {
    std::uint64_t begin = 0, end = 0;
    std::uint8_t flags = 0;
    std::string name;
    std::vector<Frame> frames;  ///< ascending, without gaps
    enum class Saves : std::uint8_t { Always, Never, Sometimes } saves = Saves::Never;
    bool keeps_return_address = true;  ///< aarch64: whether each frame begins with it
  };

 private:
  Caller caller_of(const Function& function, const Frame& frame, std::uint64_t pc) const;
  bool has_no_caller(const Function& function) const;

  const sframe::AbiTraits& abi_;
  std::vector<std::uint64_t> entered_by_kernel_;
  std::vector<std::uint64_t> starts_;
  std::vector<Function> functions_;  ///< ascending, disjoint
};

}  // namespace sframe_gen::verify
