#include "trace/walk/outer_frames.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

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

namespace {

constexpr std::uint64_t word_size = 8;
/// What a kept stack and a sample must have in common: more than chance brings. More than that does not tell calls that
/// were made again from those that have not returned (docs/measured/tracing.md).
constexpr std::uint64_t least_common_bytes = 128;

/// Words are compared at the same addresses.
bool has_words(const StackPiece& piece) {
  return piece.address % word_size == 0 && piece.bytes.size() % word_size == 0 && piece.end() >= piece.address;
}

std::uint64_t word_at(const StackPiece& piece, std::uint64_t address) {
  std::uint64_t word = 0;
  std::memcpy(&word, piece.bytes.data() + (address - piece.address), sizeof word);
  return word;
}

/// Whether all frames were found in the sample's own memory.
bool is_of_piece(const Stack& stack) {
  return stack.bases.size() == stack.frames.size() && !stack.frames.empty();
}

bool is_same(const Frame& frame, const FrameBase& base, const Frame& other, const FrameBase& other_base) {
  return frame.pc == other.pc && frame.pc_is_exact == other.pc_is_exact && base.knows_stack_pointer &&
         base.stack_pointer == other_base.stack_pointer;
}

/// Whether both lead to the same frames above, up to the stack's end. Many functions have a value of their own in the
/// frame pointer: what does not lead to the stack leads to no frame.
bool has_same_frame_pointer(const FrameBase& base, const FrameBase& other, std::uint64_t end) {
  const auto leads_to_frame = [&](const FrameBase& one) {
    return !one.knows_frame_pointer || (one.frame_pointer >= base.stack_pointer && one.frame_pointer < end);
  };
  return base == other || !(leads_to_frame(base) || leads_to_frame(other));
}

}  // namespace

std::size_t OuterStacks::Kept::size() const {
  return words.capacity() * sizeof(std::uint64_t) + frames.capacity() * sizeof(KeptFrame);
}

/// Frames go with the words that their return addresses are in.
void OuterStacks::Kept::drop_below(std::uint64_t address) {
  words.resize((end - std::clamp(address, begin(), end)) / word_size);
  while (!frames.empty() && frames.back().base.stack_pointer <= begin()) frames.pop_back();
}

/// What is below a word that has changed may have been called again, and what is below the stack pointer is gone.
void OuterStacks::Kept::drop_what_differs(const StackPiece& piece) {
  const std::uint64_t first = std::max(piece.address, begin()), last = std::min(piece.end(), end);
  if (first >= last) return;
  std::uint64_t address = last;
  while (address > first && word_at(piece, address - word_size) == words[(end - address) / word_size])
    address -= word_size;
  drop_below(address);
}

/// Adds what is inside of what is there: the words of the piece, and the frames that follow each other on this stack.
void OuterStacks::Kept::put(const StackPiece& piece, const Stack& stack) {
  for (std::size_t i = stack.bases.size(); i-- > 0 && frames.size() < most_frames;) {
    const FrameBase& base = stack.bases[i];
    const std::uint64_t above = frames.empty() ? end + 1 : frames.back().base.stack_pointer;
    if (!base.knows_stack_pointer || base.stack_pointer >= above || base.stack_pointer <= piece.address) break;
    frames.push_back({stack.frames[i], base});
  }
  for (std::uint64_t address = begin(); address > piece.address && words.size() < most_words; address -= word_size)
    words.push_back(word_at(piece, address - word_size));
  if (!frames.empty()) drop_below(frames.back().base.stack_pointer - word_size);
}

/// Returns where in `frames` the last frame of a stack is that was cut at the end of the piece, or 0: nowhere, or its
/// caller is not beyond the end. Frames and words next to the end are the same then.
std::size_t OuterStacks::Kept::joint(const StackPiece& piece, const Stack& stack) const {
  if (piece.end() > end || piece.end() < begin() + least_common_bytes) return 0;
  const std::uint64_t last = stack.bases.back().stack_pointer;
  const auto found = std::ranges::lower_bound(frames, last, std::greater<>(),
                                              [](const KeptFrame& kept) { return kept.base.stack_pointer; });
  if (found == frames.end() || found == frames.begin() || std::prev(found)->base.stack_pointer <= piece.end()) return 0;
  if (!has_same_frame_pointer(found->base, stack.bases.back(), end)) return 0;
  auto kept = found;
  std::size_t i = stack.frames.size();
  for (; i > 0 && kept != frames.end(); --i, ++kept)
    if (!is_same(stack.frames[i - 1], stack.bases[i - 1], kept->frame, kept->base)) return 0;
  const bool has_more =
      i > 0 && (!stack.bases[i - 1].knows_stack_pointer || stack.bases[i - 1].stack_pointer > begin());
  return kept == frames.end() && !has_more ? static_cast<std::size_t>(found - frames.begin()) : 0;
}

/// Adds the outer frames of what is kept to the stack, and what the sample has of the inner ones to what is kept.
bool OuterStacks::go_on(Kept& kept, const StackPiece& piece, Stack& stack) {
  const std::size_t joint = kept.joint(piece, stack);
  if (joint == 0) return false;
  kept.frames.resize(joint);
  kept.words.resize((kept.end - piece.end()) / word_size);
  kept.put(piece, stack);
  for (std::size_t i = joint; i-- > 0;) {
    Frame& frame = stack.frames.emplace_back(kept.frames[i].frame);
    frame.from_earlier_sample = true;
  }
  stack.stop = unwind::Stop::Outermost;
  return true;
}

/// False: nothing is kept. The outermost frame of what another stack has called is elsewhere.
bool OuterStacks::keep_whole(const StackOwner& owner, const StackPiece& piece, const Stack& stack) {
  const FrameBase& outermost = stack.bases.back();
  const bool is_here = outermost.knows_stack_pointer && outermost.stack_pointer % word_size == 0 &&
                       outermost.stack_pointer > piece.address && outermost.stack_pointer <= piece.end();
  if (!is_here) return false;
  Kept& kept = kept_[owner.thread];
  kept.owner = owner;
  kept.end = outermost.stack_pointer;
  kept.words.clear();
  kept.frames.clear();
  kept.put(piece, stack);
  return true;
}

void OuterStacks::take(const StackOwner& owner, const StackPiece& piece, Stack& stack) {
  auto found = kept_.find(owner.thread);
  if (found != kept_.end() && found->second.owner != owner) found = forget(found);
  if (!has_words(piece)) return;
  const std::size_t size_before = found == kept_.end() ? 0 : found->second.size();
  if (is_of_piece(stack) && stack.is_whole()) {
    if (keep_whole(owner, piece, stack)) count_use(kept_[owner.thread], size_before);
    return;
  }
  if (found == kept_.end()) return;
  Kept& kept = found->second;
  kept.drop_what_differs(piece);
  if (is_of_piece(stack) && stack.stop == unwind::Stop::UnreadableMemory && go_on(kept, piece, stack))
    count_use(kept, size_before);
}

void OuterStacks::count_use(Kept& kept, std::size_t size_before) {
  size_ += kept.size() - size_before;
  kept.used = ++uses_;
  while (kept_.size() > most_threads || (size_ > most_bytes && kept_.size() > 1))
    forget(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.used; }));
}

OuterStacks::ByThread::iterator OuterStacks::forget(ByThread::iterator entry) {
  size_ -= entry->second.size();
  kept_.erase(entry);
  return kept_.end();
}

void OuterStacks::forget_thread(int thread) {
  if (const auto found = kept_.find(thread); found != kept_.end()) forget(found);
}

void OuterStacks::forget_range(int process, std::uint64_t begin, std::uint64_t end) {
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    const auto here = entry++;
    const Kept& kept = here->second;
    if (kept.owner.process == process && kept.begin() < end && begin < kept.end) forget(here);
  }
}

}  // namespace sframe_gen::trace::walk
