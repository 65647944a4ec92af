// Any bytes as a program whose CFI is compared with its code. The work ends, and what it reports is in the program.

#include "elf/image.hpp"
#include "elf/preconditions.hpp"
#include "rows/proof/decoder.hpp"
#include "rows/proof/file_proof.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

void check(const elf::Image& image, const CodeCheck& found) {
  require(found.proved + found.refused.size() == found.functions, "each function is proved or refused");
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : found.refused_by_reason) refused += count;
  require(refused == found.refused.size(), "each refused function has one reason");
  require(found.contradicted_functions <= found.proved, "only proved functions are judged");
  require(found.not_reached_bytes <= found.described_bytes, "what is not reached is described");
  for (const CodeCheck::Contradiction& wrong : found.contradictions) {
    require(wrong.begin < wrong.end, "a contradiction has PCs");
    require(image.is_code(wrong.begin, 1), "a contradiction is in code");
    require(!wrong.cfi.empty() && !wrong.code.empty(), "a contradiction has two sides");
  }
}

}  // namespace

void code(Bytes input) {
  static const bool has_decoder = rows::proof::Decoder::why_missing().empty();
  if (!has_decoder) return;
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(input, "fuzz");
    if (!image.is_object()) elf::check_no_overlap(image);
    check(image, rows::proof::check_cfi(image, {}));
  });
}

}  // namespace sframe_gen::fuzz
