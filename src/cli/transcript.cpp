#include "cli/transcript.hpp"

#include <iostream>

namespace sframe_gen::cli {

void Transcript::print() {
  for (const Part& part : parts_) {
    if (part.target == Target::Error) std::cout.flush();
    (part.target == Target::Error ? std::cerr : std::cout) << part.text;
  }
  parts_.clear();
}

std::string& Transcript::end_of(Target target) {
  if (parts_.empty() || parts_.back().target != target) parts_.push_back({target, {}});
  return parts_.back().text;
}

Transcript::Buffer::int_type Transcript::Buffer::overflow(int_type byte) {
  if (!traits_type::eq_int_type(byte, traits_type::eof()))
    transcript_.end_of(target_) += traits_type::to_char_type(byte);
  return traits_type::not_eof(byte);
}

std::streamsize Transcript::Buffer::xsputn(const char* text, std::streamsize size) {
  transcript_.end_of(target_).append(text, static_cast<std::size_t>(size));
  return size;
}

}  // namespace sframe_gen::cli
