// Gives each file its .sframe section, in place, and says how much of its code that covers.
#include <sframe_gen/convert.hpp>

#include <cstdint>
#include <iostream>

int main(int count, char** files) try {
  for (int i = 1; i < count; ++i) {
    const sframe_gen::ConvertOutcome outcome = sframe_gen::convert_file(files[i], files[i]);
    if (const auto* const linked = std::get_if<sframe_gen::LinkedOutcome>(&outcome))
      std::cout << files[i] << ": " << linked->coverage.covered_bytes << " of " << linked->coverage.described_bytes
                << " bytes covered by " << linked->coverage.rows << " rows\n";
  }
} catch (const sframe_gen::Failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
