#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/code_patterns.hpp"
#include "trace/walk/dwarf_walker.hpp"
#include "trace/walk/frame_pointer_step.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::walk {

/// Why frames that the kernel's call chain has added are not all.
enum class ChainEnd : std::uint8_t {
  None,            ///< it has added none, or all
  Limit,           ///< the chain is as long as the kernel makes them
  NoFramePointer,  ///< the last frame's function keeps none, or its caller may be another function than the chain says
};

/// Where a frame is on the stack: registers of its function, as far as they are known. Else they are 0.
struct FrameBase {
  std::uint64_t stack_pointer = 0, frame_pointer = 0;
  bool knows_stack_pointer = false, knows_frame_pointer = false;

  friend bool operator==(const FrameBase&, const FrameBase&) = default;
};

/// The frames of a thread, the innermost first.
struct Stack {
  std::vector<Frame> frames;
  /// Of the frames that were walked, and that are all still there: other evidence adds frames, and frames may be left
  /// out.
  std::vector<FrameBase> bases{};
  /// Why there are no more. Stepped: as many as were asked for.
  unwind::Stop stop = unwind::Stop::Stepped;
  /// The last frame had no row, and this is why its frame pointer led nowhere. None: it was not asked.
  FramePointerFault frame_pointer_fault = FramePointerFault::None;
  ChainEnd chain_end = ChainEnd::None;
  /// The frames are those of a recorded call chain, which does not say whether there are more.
  bool is_as_recorded = false;
  /// Only a piece of the stack's memory could be read.
  bool is_piece = false;
  /// Its frames were to be recorded later, and were not.
  bool is_deferred = false;
  /// The same stack, if it was walked by DWARF as well.
  std::optional<DwarfStack> by_dwarf{};

  bool is_whole() const { return stop == unwind::Stop::Outermost && !is_as_recorded; }
};

/// How many frames a stack has, with those that are left out as far as their number is known.
std::uint64_t count_frames(const std::vector<Frame>& frames);

/// Keeps so many frames of a deep stack, the innermost and the outermost half: a recursion stays under what has called
/// it. One frame stands for those between. Returns false if that is too few for both ends, and keeps the innermost.
bool keep_both_ends(std::vector<Frame>& frames, std::size_t most);

/// What all walks of a run have in common.
class Walker {
 public:
  /// `abi`: of the programs.
  Walker(std::size_t most_frames, bool by_dwarf_as_well, FramePointers frame_pointers = FramePointers::Never,
         sframe::Abi abi = host_abi());
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  std::size_t most_frames() const { return most_frames_; }
  bool uses_frame_pointers() const { return frame_pointers_ != FramePointers::Never; }

  /// From `registers` outwards. Files are opened, and their sections made, as PCs lead to them.
  Stack walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context);
  /// The same into a stack that was walked before, which has room for its frames already. Leaves no frames out.
  void walk_all(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context,
                Stack& stack);
  /// Leaves out what is more than most_frames() of a stack that was walked.
  void leave_out(Stack& stack) const;

 private:
  static bool read_memory(void* walker, std::uint64_t address, void* bytes);
  static unwind::Stop without_row(void* walker, unwind::Registers& registers, unwind::Stop why);

  bool read_popped(std::uint64_t address, void* bytes) const;
  bool is_begin_of_stack(const unwind::Registers& registers) const;
  bool is_end_of_go_stack(const unwind::Registers& registers) const;
  unwind::Stop step_from_system_call(unwind::Registers& registers);
  unwind::Stop without_any_row(unwind::Registers& registers, unwind::Stop why);
  bool is_begin_of_program(const unwind::Registers& registers) const;
  unwind::Stop step_by_code(unwind::Registers& registers);
  unwind::Stop step_by_frame_pointer(unwind::Registers& registers, unwind::Stop why);
  FramePointerFault fault_of(const unwind::Registers& registers, const unwind::Registers& caller, bool is_unseen);
  void note_frame_pointer(const unwind::Registers& registers);
  bool may_leave_out_caller(const unwind::Registers& registers, std::uint64_t record);
  bool may_return_by_register(const unwind::Registers& registers);
  bool is_in_code_of_no_file(const unwind::Registers& registers);
  bool read_word(std::uint64_t address, std::uint64_t& word) const;
  bool may_return_to(std::uint64_t pc);
  bool may_use_frame_pointer(const unwind::Registers& registers, unwind::Stop why);
  void use_modules();
  FrameBase base_of(const unwind::Registers& registers) const;
  void walk_by_sections(unwind::Registers registers, Stack& stack);
  unwind::Stop step(unwind::Registers& registers);

  const sframe::AbiTraits& abi_;
  std::size_t most_frames_;
  std::vector<unwind::RowSlot> rows_;  ///< remembered by PC, of all programs
  std::unique_ptr<DwarfWalker> dwarf_;
  FramePointers frame_pointers_;
  FramePointerStep frame_pointer_step_;
  // Of the walk under way:
  AddressSpace* space_ = nullptr;
  unwind::ReadMemory read_ = nullptr;
  void* context_ = nullptr;
  bool is_interrupted_ = false;                   ///< the next frame is that of an interrupted function
  bool used_frame_pointer_ = false;               ///< for the last step
  bool used_code_ = false;                        ///< the same of a row that was made from code
  bool was_found_by_code_ = false;                ///< the frame that is left
  bool is_after_call_ = false;                    ///< the last step was by the row of the system call before the PC
  const Location* location_ = nullptr;            ///< of the frame that is left
  const unwind::Registers* registers_ = nullptr;  ///< of that frame
  FramePointerFault frame_pointer_fault_ = FramePointerFault::None;
  std::size_t words_sought_ = 0;  ///< that may be return addresses
  std::exception_ptr failure_;    ///< of the fallback
  unwind::Walked walked_;
  unwind::Unwinder unwinder_{walked_};
};

/// UpToCut: of two walks one is cut, or both, and they agree until then.
enum class Match : std::uint8_t { Equal, UpToCut, Different };
/// "equal"
const char* text_of(Match match);

/// A stack beside the same one walked by DWARF.
struct Comparison {
  Match match = Match::Equal;
  std::size_t frame = 0;             ///< Different: the first that is
  std::optional<Frame> dwarf_frame;  ///< that frame by DWARF; none: it ends before, and says that this is all
  std::size_t dwarf_last = 0;        ///< its last frame
  std::string dwarf_cut;             ///< why it has no more; empty: it is whole
};

/// None: it was not asked for.
std::optional<Comparison> comparison_of(const Stack& stack);

}  // namespace sframe_gen::trace::walk
