#include "greeting.h"

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

/// Exceptions unwind through it: .eh_frame still has to be right beside the .sframe that is made from it.
std::string greeting_of(const std::string& name) {
  if (name.empty()) throw std::invalid_argument("nobody there");
  return "hello, " + name;
}

}  // namespace

int greeting(const char* name) try {
  const std::string who = name;
  std::cout << greeting_of(who) << '\n';
  return static_cast<int>(who.size());
} catch (const std::invalid_argument& error) {
  std::cerr << error.what() << '\n';
  return -1;
}
