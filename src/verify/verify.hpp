#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "verify/libdwarf.hpp"

namespace sframe_gen::verify {

struct PcRange {
  std::uint64_t begin, end;
};

/// Sorts, and joins what overlaps, touches, or has no more than `gap` bytes between.
std::vector<PcRange> merged(std::vector<PcRange> ranges, std::uint64_t gap = 0);

std::uint64_t total_bytes(const std::vector<PcRange>& merged_ranges);

/// The stretches of `whole` that no range of `part` covers. Both merged.
std::vector<PcRange> uncovered(const std::vector<PcRange>& whole, const std::vector<PcRange>& part);

/// From a PC to the FDEs that describe it. FDEs of size zero and FDEs of no code are left out.
class FdeIndex {
 public:
  FdeIndex(const verify::DwarfSession& session, const elf::Image& image);

  const verify::DwarfSession& session() const { return *session_; }

  /// Indices into the session's table of the FDEs that hold `pc`.
  std::vector<std::size_t> fdes_at(std::uint64_t pc) const;
  /// The lowest start or end of an FDE above `pc`; the highest address if there is none.
  std::uint64_t boundary_after(std::uint64_t pc) const;
  std::vector<PcRange> ranges() const;

 private:
  struct Span {
    std::uint64_t begin, end, highest_end;  ///< the last over this and all before it
    std::size_t index;
  };
  const verify::DwarfSession* session_;
  std::vector<Span> spans_;  ///< by begin
  std::vector<std::uint64_t> boundaries_;
};

/// Holds .sframe against the DWARF of `cfi_image` (often `image` itself), PC by PC: the decoder's reading of the bytes
/// on disk against libdwarf's evaluation of the FDEs. Rules are compared as numbers in a made-up context. Each row's
/// first and last PC and each change of the DWARF inside it are checked; a row where DWARF says nothing, or outside
/// code, is a difference, unless it goes on from a function over padding. Rows that .sframe leaves out are counted, not
/// judged.
///
/// Throws MalformedInput for a damaged section, Refused when the file has no .sframe or no CFI. `progress` is called
/// now and then with functions done and functions in all.
Verification verify(const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// The same for a section that is not, or not yet, in the file.
Verification verify(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace sframe_gen::verify
