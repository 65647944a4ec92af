// Any bytes as a program with debugging information, which is its own alternate file. The work ends, and the answers
// are the same the second time.

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "target.hpp"
#include "trace/dwarf/source_places.hpp"

namespace sframe_gen::fuzz {

namespace {

/// The begin, middle and end of what is code, and addresses that linkers give to what they drop.
std::vector<std::uint64_t> addresses_of(const elf::Image& image) {
  std::vector<std::uint64_t> addresses{0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1};
  constexpr std::size_t most = 1000;
  for (const Range& range : image.code()) {
    const std::uint64_t step = range.size() / 64 + 1;
    for (std::uint64_t at = range.begin; at < range.end && addresses.size() < most; at += step) addresses.push_back(at);
  }
  return addresses;
}

}  // namespace

void dwarf(Bytes input) {
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(input, "fuzz");
    const elf::Image alternate = elf::Image::of_bytes(input, "fuzz");
    sframe_gen::trace::dwarf::SourcePlaces::alternate_of(image);
    sframe_gen::trace::dwarf::SourcePlaces places(image, &alternate, nullptr);
    for (const std::uint64_t address : addresses_of(image)) {
      const auto& frames = places.at(address);
      constexpr std::size_t most_frames = 257;
      require(frames.size() <= most_frames, "calls are nested as deeply as compilers nest them");
      for (const auto& frame : frames) require(frame.file.size() <= 4096, "a path is one");
      require(&frames == &places.at(address), "an answer stays");
    }
  });
}

}  // namespace sframe_gen::fuzz
