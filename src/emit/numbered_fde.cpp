#include "emit/numbered_fde.hpp"

namespace sframe_gen::emit {

sframe::Fde spelled_out(const NumberedFde& fde, const RuleTable& rules) {
  sframe::Fde result{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  result.fres.reserve(fde.fres.size());
  for (const NumberedFre& fre : fde.fres) result.fres.push_back({fre.pc_offset, rules.recovery(fre.rule)});
  return result;
}

}  // namespace sframe_gen::emit
