#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace sframe_gen::cli {

/// What the work on one file says, on standard output and on standard error, while other files are at work as well. It
/// is kept in the order in which it was said, and comes out when it is the file's turn.
class Transcript {
 public:
  Transcript() : out_buffer_(*this, Target::Output), err_buffer_(*this, Target::Error) {}
  Transcript(const Transcript&) = delete;
  Transcript& operator=(const Transcript&) = delete;

  std::ostream& out() { return out_; }
  std::ostream& err() { return err_; }

  /// All that was said so far, to the program's own streams.
  void print();

 private:
  enum class Target : unsigned char { Output, Error };

  /// Whatever is written to it becomes a part of the transcript.
  class Buffer : public std::streambuf {
   public:
    Buffer(Transcript& transcript, Target target) : transcript_(transcript), target_(target) {}

   protected:
    int_type overflow(int_type byte) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;

   private:
    Transcript& transcript_;
    Target target_;
  };

  struct Part {
    Target target;
    std::string text;
  };

  std::string& end_of(Target target);

  std::vector<Part> parts_;
  Buffer out_buffer_, err_buffer_;
  std::ostream out_{&out_buffer_}, err_{&err_buffer_};
};

/// Calls `work(i)` for each i below `weights.size()` in up to `jobs` threads, and `finish(i)` for each, in their order,
/// in this one. With one job both alternate, and nothing runs in another thread.
///
/// What is under way is bounded whatever `jobs` says: together it weighs at most `most_weight` (or is one heavy item
/// alone), and no item is started that is far ahead of the first that is not finished. `tick` is called now and then
/// while this thread waits. `work` must not throw.
void for_each_in_order(std::span<const std::uint64_t> weights, unsigned jobs, std::uint64_t most_weight,
                       const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finish,
                       const std::function<void()>& tick);

/// Does what the options ask for, file by file. Returns the exit status: 0, or as Totals::status() says.
int run(const Options& options);

/// Runs the compiler command of `options` and converts the objects it made. Returns the command's exit status, or 1 if
/// an object is malformed or cannot be written; it is removed then, as a compiler that fails leaves none. An object
/// that cannot be converted for a stated reason (LTO's intermediate code, another machine) stays as the compiler made
/// it.
///
/// The command gets the signals as this process has them: what writing needs of them, `prepare_to_write` does
/// afterwards.
int launch(const Options& options, void (*prepare_to_write)());

}  // namespace sframe_gen::cli
