#pragma once

#include <cstdint>
#include <functional>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "verify/witnesses.hpp"

namespace sframe_gen::verify {

/// Compares .sframe or .ctf_frame with the DWARF of `cfi_image` (often `image` itself), PC by PC: the decoder's reading
/// of the bytes on disk with libdwarf's evaluation of the FDEs. Rules are compared as numbers in a made-up context.
/// Each row's first and last PC and each change of the DWARF inside it are checked; a row where DWARF says nothing, or
/// outside code, is a difference, unless it goes on from a function over padding. PCs that the section leaves out are
/// counted, not judged. Code of Go is compared with a second reading of the function table that Go's linker writes
/// (verify/go_frames), and against .debug_frame as far as that is right.
///
/// Throws MalformedInput for a damaged section, Refused when the file has no .sframe or no CFI. `progress` is called
/// now and then with functions done and functions in all. `prove` is called if a row is for code that nothing
/// describes.
Verification verify(const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProveRows& prove = nullptr);

/// Compares a section that is not, or not yet, in the file.
Verification verify(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProveRows& prove = nullptr);

/// Checks that `after`, a section for `image` made from `before`, has the same row at each PC that has one in `before`.
/// Other rows of `after` may only describe padding. Throws Refused otherwise.
void check_same_rows(const sframe::Section& before, const sframe::Section& after, const elf::Image& image);

}  // namespace sframe_gen::verify
