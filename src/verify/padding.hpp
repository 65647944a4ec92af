#pragma once

#include <cstdint>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::verify {

/// Whether [begin, end) of the file's code holds nothing that a program would run: instructions that do nothing or
/// trap, and zeros. A compact section's rows may go on over such PCs between functions. Decodes instructions, where
/// what wrote the section compares with a list: the judge shares no code with the judged.
bool is_padding(const elf::Image& image, sframe::Abi abi, std::uint64_t begin, std::uint64_t end);

}  // namespace sframe_gen::verify
