// Judges claims about the code of a file (code-steps makes them).
//
//     code-checker FILE <LISTING
//
// Prints what was judged, and each claim that does not follow. Exit status 1 if there is one, 2 on errors.

#include <exception>
#include <iostream>

#include "rows/proof/checker/checker.hpp"
#include "support/text.hpp"

int main(int argument_count, char** arguments) {
  using namespace sframe_gen;
  if (argument_count != 2) return 2;
  try {
    std::ios::sync_with_stdio(false);
    const elf::Image image = elf::Image::open(arguments[1]);
    checker::Checker checker(image);
    checker::Function function;
    for (std::string header; checker::read_function(std::cin, header, function);) checker.check(function);
    checker.finish();
    for (const checker::Fault& fault : checker.faults())
      std::cout << "fault: function " << hex(fault.function) << ", " << hex(fault.pc) << ": "
                << (fault.fact.empty() ? "" : fault.fact + " ") << fault.reason << '\n';
    const checker::Counts& counts = checker.counts();
    std::cout << image.name() << ": " << counts.functions << " functions, " << counts.steps << " steps, "
              << counts.facts << " facts, " << counts.edges << " edges, " << checker.faults().size()
              << " faults; believed: " << counts.bounded_tables << " bounds of tables, " << counts.unbounded_tables
              << " ends of tables, " << counts.endless_calls << " endless calls (" << counts.doubtful_endless
              << " of functions that return), " << counts.stores_believed_to_miss
              << " stores that miss saved registers, " << counts.unknown_instructions << " unknown instructions\n";
    return checker.faults().empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
