// Any bytes as a relocatable object: converted, and the result again.

#include <vector>

#include "convert/convert_object.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

void object(Bytes input) {
  ConvertOptions options;
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(input, "fuzz.o");
    if (!image.is_object()) return;
    // These bytes of the ELF header mean nothing.
    if (std::to_integer<unsigned>(input[EI_PAD]) % 2 != 0) options.format.version = sframe::Version::V2;
    options.format.compact_rows = std::to_integer<std::uint32_t>(input[EI_PAD + 1]) % most_compact_rows;
    const std::vector<std::byte> once = convert::convert_object(image, options).bytes;
    const std::vector<std::byte> twice = convert::convert_object(elf::Image::of_bytes(once, "fuzz.o"), options).bytes;
    require(once == twice, "an object that was converted stays as it is");
  });
}

}  // namespace sframe_gen::fuzz
