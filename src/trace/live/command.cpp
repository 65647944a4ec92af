#include "trace/live/command.hpp"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::live {

namespace {

constexpr int cannot_be_run = 126, not_found = 127;

}  // namespace

int become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  // exec's argument is not const for reasons of history: it changes nothing.
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  std::cerr << "sframe-trace: error: " + printable(SystemFailure(command.front(), "run", error).what()) + "\n";
  return error == ENOENT ? not_found : cannot_be_run;
}

}  // namespace sframe_gen::trace::live
