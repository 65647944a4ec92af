#include "trace/walk/kernel_chain.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace sframe_gen::trace::walk {

namespace {

/// A frame's file, and the address of its instruction there.
struct FramePlace {
  std::shared_ptr<CodeFile> file;  ///< null: it is in none
  std::uint64_t address = 0;

  explicit FramePlace(const Frame& frame)
      : file(frame.location == nullptr || frame.location->is_of_no_file() ? nullptr : frame.location->file()),
        address(frame.location == nullptr ? 0 : frame.instruction() - frame.location->bias) {}

  FrameRecord record() const { return file ? file->frame_record_at(address) : FrameRecord::None; }
};

/// Where in the chain the last two frames are, as the place of the last one.
std::optional<std::size_t> place_of_last(std::span<const std::uint64_t> pcs, const std::vector<Frame>& frames) {
  if (frames.size() < 2) return std::nullopt;
  const std::uint64_t before = frames[frames.size() - 2].pc, last = frames.back().pc;
  std::optional<std::size_t> found;
  for (std::size_t i = 1; i < pcs.size(); ++i) {
    if (pcs[i - 1] != before || pcs[i] != last) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

class Continuation {
 public:
  Continuation(const KernelChain& chain, AddressSpace& space, std::size_t most_frames, Stack& stack)
      : chain_(chain), space_(space), most_frames_(most_frames), stack_(stack) {}

  void run(std::size_t place) {
    const std::size_t before = stack_.frames.size();
    while (step(place)) ++place;
    if (stack_.frames.size() == before || stack_.is_whole()) return;
    if (stack_.frames.size() >= most_frames_) {
      stack_.stop = unwind::Stop::Stepped;
    } else {
      stack_.chain_end = chain_.is_full && place + 1 == chain_.pcs.size() ? ChainEnd::Limit : ChainEnd::NoFramePointer;
    }
    stack_.frame_pointer_fault = FramePointerFault::None;
  }

 private:
  /// From the chain's entry at `place`, which is the last frame, to the next one.
  bool step(std::size_t place) {
    if (stack_.frames.size() >= most_frames_) return false;
    const FramePlace last(stack_.frames.back());
    const FrameRecord record = last.record();
    if (record == FrameRecord::Outermost) stack_.stop = unwind::Stop::Outermost;
    if (record == FrameRecord::Outermost || place + 1 == chain_.pcs.size()) return false;
    const Frame next = frame_of(chain_.pcs[place + 1]);
    if (record == FrameRecord::Kept) return may_return_to(last, next) && add(next);
    const auto left_out = caller_without_frame_pointer(last, record, FramePlace(next));
    return left_out && may_return_to(FramePlace(*left_out), next) && stack_.frames.size() + 1 < most_frames_ &&
           add(*left_out) && add(next);
  }

  Frame frame_of(std::uint64_t pc) {
    Frame frame{.pc = pc, .pc_is_exact = false, .by_frame_pointer = true};
    frame.location = space_.location_of(frame.instruction());
    return frame;
  }

  bool add(const Frame& frame) {
    stack_.frames.push_back(frame);
    return true;
  }

  /// Whether the callee may return to the frame. What Go's threads begin in was not called.
  static bool may_return_to(const FramePlace& callee, const Frame& frame) {
    const FramePlace caller(frame);
    if (!caller.file) return false;
    if (caller.record() == FrameRecord::Outermost) return true;
    if (!caller.file->may_return_to(caller.address + 1)) return false;
    GoCode* const go = callee.file == caller.file ? caller.file->go_code() : nullptr;
    return go == nullptr || go->may_return_from(callee.address, caller.address + 1);
  }

  /// The caller that the chain leaves out, as the last frame keeps no frame pointer.
  std::optional<Frame> caller_without_frame_pointer(const FramePlace& last, FrameRecord record,
                                                    const FramePlace& next) {
    GoCode* const go = last.file ? last.file->go_code() : nullptr;
    const FramePlace called(stack_.frames[stack_.frames.size() - 2]);
    if (go == nullptr || called.file != last.file || next.file != last.file) return std::nullopt;
    const std::uint64_t return_address = next.address + 1;
    // To look for them takes time, which files may be made for.
    constexpr std::size_t most_sought = 8;
    if (sought_++ == most_sought) return std::nullopt;
    const auto found = record == FrameRecord::OfCaller
                           ? go->return_to_caller_of(last.address, return_address)
                           : go->return_to_other_stack(last.address, called.address, return_address);
    if (!found) return std::nullopt;
    const Frame frame = frame_of(*found + stack_.frames.back().location->bias);
    return FramePlace(frame).record() == FrameRecord::Kept ? std::optional(frame) : std::nullopt;
  }

  const KernelChain& chain_;
  AddressSpace& space_;
  std::size_t most_frames_;
  Stack& stack_;
  std::size_t sought_ = 0;  ///< callers that the chain leaves out
};

}  // namespace

void go_on_by(const KernelChain& chain, AddressSpace& space, std::size_t most_frames, Stack& stack) {
  using unwind::Stop;
  const bool may_go_on =
      stack.stop == Stop::NoRow || stack.stop == Stop::UnreadableMemory || stack.stop == Stop::UnknownRegister;
  if (!may_go_on) return;
  if (const auto place = place_of_last(chain.pcs, stack.frames))
    Continuation(chain, space, most_frames, stack).run(*place);
}

}  // namespace sframe_gen::trace::walk
