#pragma once

#include <cstdint>
#include <vector>

#include "emit/rule_table.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

/// A row whose rule is one of a RuleTable.
struct NumberedFre {
  std::uint32_t pc_offset = 0;
  RuleId rule = 0;
};

/// An sframe::Fde with such rows.
struct NumberedFde {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  bool signal_frame = false;
  bool b_key = false;
  sframe::PcType pc_type = sframe::PcType::Increment;
  std::uint8_t repeat_size = 0;
  sframe::FdeType type = sframe::FdeType::Default;
  std::vector<NumberedFre> fres;
};

sframe::Fde spelled_out(const NumberedFde& fde, const RuleTable& rules);

}  // namespace sframe_gen::emit
