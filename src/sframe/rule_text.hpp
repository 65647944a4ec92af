#pragma once

#include <string>

#include "sframe/abi.hpp"
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

}  // namespace sframe_gen::sframe
