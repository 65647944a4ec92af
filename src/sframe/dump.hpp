#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {

/// The rules of one section's rows in the notation of readelf --sframe, appended to a line: "sp+16", "c-16", "(r10-8)";
/// "u" is unchanged, "f" at the ABI's fixed place, "U" not saved where the frame pointer is.
class RuleText {
 public:
  /// `section` must outlive it.
  explicit RuleText(const Section& section) : section_(&section), traits_(&traits_of(section.abi)) {}

  void append_cfa(std::string& line, const Rule& rule, FdeType type) const;
  void append_frame_pointer(std::string& line, const RecoveryRules& recovery) const;
  /// Without the mark of a signed address.
  void append_return_address(std::string& line, const RecoveryRules& recovery, FdeType type) const;

 private:
  void append_rule(std::string& line, const Rule& rule) const;
  void append_base(std::string& line, const Rule& rule) const;

  const Section* section_;
  const AbiTraits* traits_;
};

/// Writes the section in the notation of `readelf --sframe` (binutils 2.46 and 2.47), byte for byte for the versions
/// these know, 2 and 3:
///
///     func idx [1]: pc = 0x1010, size = 32 bytes, attr = "S"
///     STARTPC[m]      CFA       FP        RA
///     0000000000000000  sp+8      u         f
///     000000000000000b  (fp-8)    c-16      U
///
/// attr: S signal frame, F flexible descriptor. [m]: offsets in a repeated block, not addresses. c: the CFA;
/// parentheses: the value stored there; u: unchanged; f: the fixed place; U: unchanged, held open by a padding word;
/// [s]: signed. r16, on s390x in version 2: in that register.
///
/// If `wanted` is not empty, only the descriptors for which it returns true are printed.
void dump(const Section& section, std::string_view section_name, std::ostream& out,
          const std::function<bool(const Fde&)>& wanted = {});

}  // namespace sframe_gen::sframe
