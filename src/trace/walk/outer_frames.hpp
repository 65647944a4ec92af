#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/hash.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/stack.hpp"

/// The frames beyond a walk that was cut, by the kernel's call chain or by earlier samples.
namespace sframe_gen::trace::walk {

/// The callers of a program that the kernel has found by frame pointers, the innermost first. It reads all memory of
/// the program, also where no piece of the stack was copied.
struct KernelChain {
  std::span<const std::uint64_t> pcs;
  bool is_full = false;  ///< it ends at the kernel's limit
};

/// Goes on, from where a walk was cut, with the chain: after the last two frames, if they follow each other in it at
/// one place only. Frame pointers leave out the caller of each function that does not keep one. So each step needs a
/// function that is seen to have set its frame pointer, by its row or by Go's instructions, and a return address that
/// follows a call. Where Go changes the stack, the caller that is left out is added if the code shows which it is.
/// x86-64 only.
void go_on_by(const KernelChain& chain, AddressSpace& space, std::size_t most_frames, Stack& stack);

/// Whose stack it is.
struct StackOwner {
  int process = 0, thread = 0;
  std::uint64_t program = 0;  ///< another number after each execve(2)

  friend bool operator==(const StackOwner&, const StackOwner&) = default;
};

/// Memory of a stack, upwards from `address`.
struct StackPiece {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  std::uint64_t end() const { return address + bytes.size(); }
};

/// The stacks of threads as their samples had them, with memory and frames, each up to its outermost frame. A kernel
/// copies at most 64 KiB of a stack. The outer frames of a larger one come from here, where a thread's last samples
/// were less deep: what a thread has not returned to is as it was.
///
/// Nothing tells that a thread has not returned. Two callers may make the same calls with the same words in memory, at
/// the same addresses. Then the frames beyond what was copied may be those of the other caller.
class OuterStacks {
 public:
  /// Takes the next sample of a thread, whose `stack` was walked by the memory in `piece`, all of its frames still
  /// there.
  ///
  /// If it is whole, it takes the place of what was kept. If it is cut where the piece ends, the outer frames of what
  /// was kept are added, marked, and the stack is whole, if both agree next to the end of the piece: in all words of at
  /// least 128 bytes, in all frames that have their return addresses there, the last one among them, and in its frame
  /// pointer, if that leads to the stack. Then the two together take the place of what was kept. Otherwise only what
  /// agrees is kept on.
  void take(const StackOwner& owner, const StackPiece& piece, Stack& stack);

  /// The thread has ended, or is a new one.
  void forget_thread(int thread);
  /// Something else was mapped there.
  void forget_range(int process, std::uint64_t begin, std::uint64_t end);

  std::size_t threads() const { return kept_.size(); }
  /// Bytes of all that is kept.
  std::size_t size() const { return size_; }

  // Of these, the ones that were used least recently are forgotten first.
  static constexpr std::size_t most_threads = 1024, most_bytes = std::size_t{64} << 20U;
  /// Of a thread; the innermost of more are left out.
  static constexpr std::size_t most_words = std::size_t{1} << 17U, most_frames = std::size_t{1} << 14U;

 private:
  struct KeptFrame {
    Frame frame;
    FrameBase base;
  };
  /// Both lists begin with the outermost, so that what is inside can be replaced.
  struct Kept {
    StackOwner owner;
    std::uint64_t end = 0;             ///< the address after the first word
    std::vector<std::uint64_t> words;  ///< as in memory
    std::vector<KeptFrame> frames;  ///< each with a known and smaller stack pointer than the one before, above begin()
    std::uint64_t used = 0;         ///< a later one is greater

    std::uint64_t begin() const { return end - 8 * words.size(); }
    std::size_t size() const;
    void drop_below(std::uint64_t address);
    void drop_what_differs(const StackPiece& piece);
    void put(const StackPiece& piece, const Stack& stack);
    std::size_t joint(const StackPiece& piece, const Stack& stack) const;
  };

  using ByThread = SeededMap<int, Kept>;

  bool keep_whole(const StackOwner& owner, const StackPiece& piece, const Stack& stack);
  static bool go_on(Kept& kept, const StackPiece& piece, Stack& stack);
  ByThread::iterator forget(ByThread::iterator entry);
  void count_use(Kept& kept, std::size_t size_before);

  ByThread kept_;
  std::size_t size_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace sframe_gen::trace::walk
