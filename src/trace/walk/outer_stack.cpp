#include "trace/walk/outer_stack.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

namespace sframe_gen::trace::walk {

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
