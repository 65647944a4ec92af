#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <utility>
#include <vector>

#include "cli/options.hpp"

/// Command lines that are refused.
namespace sframe_gen::cli::test {

inline Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "sframe-gen");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

struct Wrong {
  std::vector<const char*> arguments;
  const char* message;
};

inline void PrintTo(const Wrong& wrong, std::ostream* out) {
  for (const char* argument : wrong.arguments) *out << argument << ' ';
}

inline void expect_refusal(std::vector<const char*> arguments, const char* message) {
  try {
    read(std::move(arguments));
    FAIL() << "was taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

}  // namespace sframe_gen::cli::test
