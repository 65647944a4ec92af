#pragma once

#include <stdexcept>

namespace sframe_gen::cli {

/// Wrong usage: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sframe_gen::cli
