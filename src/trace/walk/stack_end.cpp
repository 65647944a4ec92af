#include "trace/walk/stack_end.hpp"

#include "support/text.hpp"

namespace sframe_gen::trace::walk {

std::string text_of(const StackEnd& cut) {
  return cut.file.empty() || cut.reason.starts_with(cut.file) ? cut.reason : cut.file + ": " + cut.reason;
}

namespace {

constexpr const char* limit_of_frames = "limit of frames reached (--frames)";

const char* text_of(ChainEnd end) {
  return end == ChainEnd::Limit ? "the kernel's call chain ends (raise kernel.perf_event_max_stack)"
                                : "beyond what was recorded, and its frame pointer is not sure to lead to its caller";
}

/// Why a stack ends in a frame that is in a mapping.
std::string reason_of(const Stack& stack, const Location& location) {
  switch (stack.stop) {
    case unwind::Stop::Stepped:
      return limit_of_frames;
    case unwind::Stop::NoSection:
      if (const auto file = location.file()) {
        file->rows();  // of just-in-time code, it may have been made anew
        return file->why_no_rows();
      }
      return location.why_not();
    case unwind::Stop::NoRow:
      return "no row";
    case unwind::Stop::UnreadableMemory:
      if (stack.is_piece) return "the recorded piece of the stack ends";
      break;
    default:
      break;
  }
  return unwind::text_of(stack.stop);
}

}  // namespace

std::optional<StackEnd> cut_of(const Stack& stack) {
  if (stack.is_deferred) return StackEnd{{}, "deferred, and did not come", {}};
  const bool reached_limit = stack.stop == unwind::Stop::Stepped;
  if (stack.is_whole() || (stack.is_as_recorded && !reached_limit) || stack.frames.empty()) return std::nullopt;
  const Frame& last = stack.frames.back();
  const std::uint64_t pc = last.instruction();
  StackEnd cut;
  if (last.location != nullptr) {
    cut = {last.location->name(), reason_of(stack, *last.location), hex(pc - last.location->bias)};
  } else {
    cut = {{}, reached_limit ? limit_of_frames : unwind::text_of(unwind::Stop::NoModule), hex(pc)};
  }
  if (stack.frame_pointer_fault != FramePointerFault::None)
    cut.reason = text_of(stack.frame_pointer_fault, stack.is_piece);
  if (stack.chain_end != ChainEnd::None) cut.reason = text_of(stack.chain_end);
  // Messages have the names of files in them, which need not be fit to be printed.
  cut.reason = printable(cut.reason);
  return cut;
}

}  // namespace sframe_gen::trace::walk
