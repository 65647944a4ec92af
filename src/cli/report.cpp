#include "cli/report.hpp"

#include <set>

namespace sframe_gen::cli {

void Report::add(const cfi::FunctionFrames& frames, const emit::Selected& selected) {
  ++functions;
  ++(selected.holes.empty() ? whole : selected.functions.empty() ? left_out : in_part);
  described_bytes += frames.size;
  covered_bytes += frames.size;
  std::set<emit::Unrepresentable> seen;
  for (const emit::Hole& hole : selected.holes) {
    ReasonCount& count = reasons[static_cast<std::size_t>(hole.reason)];
    if (seen.insert(hole.reason).second) ++count.functions;
    count.bytes += hole.end - hole.begin;
    covered_bytes -= hole.end - hole.begin;
    holes.push_back({hole, {}, {}});
  }
  for (const sframe::Function& function : selected.functions) {
    ++(function.pc_type == sframe::PcType::Mask            ? mask_descriptors
       : function.type == sframe::DescriptorType::Flexible ? flexible_descriptors
                                                           : default_descriptors);
    rows += function.rows.size();
  }
}

void Report::append(const Report& other) {
  functions += other.functions;
  whole += other.whole;
  in_part += other.in_part;
  left_out += other.left_out;
  described_bytes += other.described_bytes;
  covered_bytes += other.covered_bytes;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    reasons[i].functions += other.reasons[i].functions;
    reasons[i].bytes += other.reasons[i].bytes;
  }
  holes.insert(holes.end(), other.holes.begin(), other.holes.end());
  dropped.duplicate += other.dropped.duplicate;
  default_descriptors += other.default_descriptors;
  flexible_descriptors += other.flexible_descriptors;
  mask_descriptors += other.mask_descriptors;
  rows += other.rows;
}

}  // namespace sframe_gen::cli
