#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

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

}  // namespace sframe_gen::cli
