// Writes what the engine claims of each function that it proves: rows/proof/checker/listing.hpp has the format.
//
//     code-steps [--undescribed] FILE
//
// --undescribed: of code without CFI, too.

#include <exception>
#include <iostream>
#include <string_view>

#include "rows/proof/checker/steps.hpp"

int main(int argument_count, char** arguments) {
  using namespace sframe_gen;
  const bool has_option = argument_count == 3 && arguments[1] == std::string_view("--undescribed");
  if (argument_count != 2 && !has_option) return 2;
  try {
    std::ios::sync_with_stdio(false);
    checker::list_proved(elf::Image::open(arguments[argument_count - 1]),
                         [](const checker::Function& function) { std::cout << checker::text_of(function); },
                         {.proves_undescribed = has_option});
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
