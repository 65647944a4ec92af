#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "verify/coverage.hpp"
#include "verify/dwarf_session.hpp"

namespace sframe_gen::verify {

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

}  // namespace sframe_gen::verify
