#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "sframe/section.hpp"

namespace sframe_gen::verify {

struct Difference {
  std::uint64_t pc;
  std::string text;  ///< "pc 0x2030: .sframe says …, DWARF says …"
};

struct Verification {
  std::uint64_t functions = 0;          ///< descriptors in .sframe
  std::uint64_t rows = 0;               ///< in .sframe
  std::uint64_t checked_pcs = 0;        ///< at which both sides were computed
  std::uint64_t described_bytes = 0;    ///< code that some FDE describes
  std::uint64_t claimed_bytes = 0;      ///< code that some row of .sframe covers
  std::uint64_t left_out_rows = 0;      ///< stretches that an FDE describes and no row covers
  std::uint64_t difference_count = 0;   ///< wrong rows, by stretch
  std::uint64_t unchecked_count = 0;    ///< rows whose FDE libdwarf cannot evaluate
  std::vector<Difference> differences;  ///< the first of both

  /// For the file's other section: a file may have .sframe and .ctf_frame.
  Verification& operator+=(const Verification& other);
};

/// Holds .sframe against the DWARF of `cfi_image` (often `image` itself), PC by PC: the decoder's reading of the bytes
/// on disk against libdwarf's evaluation of the FDEs. Rules are compared as numbers on a made-up machine. Each row's
/// first and last PC and each change of the DWARF inside it are checked; a row where DWARF says nothing, or outside
/// code, is a difference. Rows that .sframe leaves out are counted, not judged.
///
/// Throws MalformedInput for a damaged section, Refused when the file has no .sframe or no CFI. `progress` is called
/// now and then with functions done and functions in all.
Verification verify(const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// The same for a section that is not, or not yet, in the file.
Verification verify(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace sframe_gen::verify
