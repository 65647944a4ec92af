#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

namespace sframe_gen {

/// Where bytes came from, for messages.
struct InputOrigin {
  std::string file;
  std::string section;  ///< a section's name, or what the bytes are ("ELF header")
};

/// A file that could not be done. `what()` reads "FILE: …", ready for a message.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The input breaks its own format: "FILE: SECTION+OFFSET: WHAT".
class MalformedInput : public Failure {
 public:
  MalformedInput(const InputOrigin& origin, std::uint64_t offset, const std::string& what);
};

/// The input is sound but cannot be done, or not safely: "FILE: WHY". The file stays as it was.
class Refused : public Failure {
 public:
  Refused(const std::string& file, const std::string& why);
};

/// The operating system said no: "FILE: cannot ACTION: REASON".
class SystemFailure : public Failure {
 public:
  SystemFailure(const std::string& file, const std::string& action, int error_number);
};

/// An output that breaks a rule and was not kept: either the input's headers contradict each other in a way that
/// nothing noticed before, or there is a bug. "FILE: RULE"; the file stays as it was.
class LayoutViolation : public Failure {
 public:
  LayoutViolation(const std::string& file, const std::string& rule);
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
