// Writes what the engine claims of each function that it proves: code/checker/listing.hpp has the format.
//
//     code-steps FILE

#include <exception>
#include <iostream>

#include "code/checker/steps.hpp"

int main(int argument_count, char** arguments) {
  using namespace sframe_gen;
  if (argument_count != 2) return 2;
  try {
    std::ios::sync_with_stdio(false);
    checker::list_proved(elf::Image::open(arguments[1]),
                         [](const checker::Function& function) { std::cout << checker::text_of(function); });
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
