#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/reasons.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Writes sections whose functions and rows a program has itself: a compiler at run time, a linker, a rewriter of code.
///
///     sframe::Section section;
///     section.address = address_of_the_bytes;
///     sframe::Fde function;
///     function.start = code;
///     function.size = 32;
///     function.add_row(0, {.cfa = sframe::Rule::register_plus(7, 8)});     // x86-64: CFA = rsp + 8
///     function.add_row(1, {.cfa = sframe::Rule::register_plus(7, 16), .frame_pointer = sframe::Rule::at_cfa(-16)});
///     section.fdes.push_back(function);
///     const std::vector<std::byte> bytes = sframe::encode(section);
namespace sframe_gen {

/// A row that a version, or the readers of a format, cannot represent.
class CannotRepresent : public Refused {
 public:
  CannotRepresent(const std::string& name, std::uint64_t pc, Unrepresentable reason, sframe::Version version);

  std::uint64_t pc() const noexcept { return pc_; }  ///< where the row begins
  Unrepresentable reason() const noexcept { return reason_; }

 private:
  std::uint64_t pc_;
  Unrepresentable reason_;
};

namespace sframe {

/// Encodes functions of linked code as a section at `section.address`, sorted by their starts. Each PC of them has the
/// row that it has in `section`, and no other PC has one; this is checked before the function returns. So decoding the
/// bytes gives the same rows, though blocks that are equal may be joined, and starts that are bit masks written out.
///
/// The address, ABI, version and functions of `section` are used. The byte order is the ABI's. A rule that the ABI
/// fixes may be left out or be there. `name` is for messages. Throws CannotRepresent for a row that the format cannot
/// represent, and Refused for functions that overlap, are empty or too far away, for rows that do not ascend, and for a
/// section that passes the last address.
std::vector<std::byte> encode(const Section& section, const OutputFormat& format, const std::string& name = "section");

/// Returns the format that a section has: its version, and in version 2 how the starts of functions count.
OutputFormat format_of(const Section& section);

/// The same in the section's own format. This is decode()'s inverse.
std::vector<std::byte> encode(const Section& section);

}  // namespace sframe
}  // namespace sframe_gen

SFRAME_GEN_END_CXX
