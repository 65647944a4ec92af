#include "cli/verify_report.hpp"

#include <ostream>

#include "support/text.hpp"

namespace sframe_gen::cli {

verify::Verification sum_of(const std::vector<MemberVerification>& members) {
  verify::Verification sum;
  for (const MemberVerification& member : members) sum += member.result;
  return sum;
}

void write_summary(const std::string& file, const verify::Verification& result, std::ostream& out) {
  out << printable(file) << ": " << count_of(result.functions, "descriptor") << ", " << count_of(result.rows, "row")
      << ", " << count_of(result.checked_pcs, "PC") << " checked: "
      << (result.difference_count == 0 ? "no difference" : count_of(result.difference_count, "difference")) << "; "
      << result.left_out_rows << " left out";
  if (result.unchecked_count != 0) out << ", " << count_of(result.unchecked_count, "row") << " unchecked";
  out << '\n';
}

void write_summary(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out) {
  write_summary(file + ": " + count_of(members.size(), "member"), sum_of(members), out);
}

}  // namespace sframe_gen::cli
