// Any bytes as a program or library: converted in memory, by default and compact. The result verifies, gives the input
// back, and is the same when it is made twice.

#include <algorithm>
#include <vector>

#include "converted.hpp"
#include "rewrite/undo/undo.hpp"
#include "target.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::fuzz {

namespace {

void check(const elf::Image& image, const ConvertOptions& options) {
  Converted output;
  if (!succeeds([&] { output = fuzz::converted(image, options); })) return;
  require(output.bytes == fuzz::converted(image, options).bytes, "a conversion gives the same bytes twice");

  const MemoryFile file(output.bytes), original;
  const elf::Image converted = elf::Image::open(file.descriptor(), "converted");
  const std::uint64_t size =
      rewrite::restore_original(converted, elf::sframe_section, original.descriptor(), "original").size;
  require(size == image.file_bytes().size(), "the original has its size");
  const elf::Image restored = elf::Image::open(original.descriptor(), "original");
  require(std::ranges::equal(restored.file_bytes(), image.file_bytes()), "the original is given back");

  if (output.contradicts) return;
  succeeds([&] {
    const Verification verified = verify::verify(converted, converted, {});
    for (const Verification::Difference& difference : verified.differences) require(false, text_of(difference));
    // Nothing has been stripped yet.
    for (const Verification::Difference& unchecked : verified.unchecked)
      require(unchecked.kind != Verification::Difference::Kind::NoFde, text_of(unchecked));
  });
}

}  // namespace

void conversion(Bytes input) {
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(input, "fuzz");
    if (image.is_object() || image.find_section(".sframe") != nullptr) return;
    ConvertOptions options;
    // These bytes of the ELF header mean nothing.
    constexpr sframe::Version versions[] = {sframe::Version::V3, sframe::Version::V2, sframe::Version::V1};
    options.format.version = versions[std::to_integer<unsigned>(input[EI_PAD]) % 3];
    check(image, options);
    options.format.compact_rows = 1 + std::to_integer<std::uint32_t>(input[EI_PAD + 1]) % most_compact_rows;
    check(image, options);
  });
}

}  // namespace sframe_gen::fuzz
