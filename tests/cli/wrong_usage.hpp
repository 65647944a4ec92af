#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
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

/// The message, or nothing if the command line is taken.
inline std::string refusal_of(std::vector<const char*> arguments) {
  try {
    read(std::move(arguments));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

inline void expect_refusal(std::vector<const char*> arguments, const char* message) {
  EXPECT_EQ(refusal_of(std::move(arguments)), message);
}

}  // namespace sframe_gen::cli::test
