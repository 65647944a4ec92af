#include <algorithm>
#include <ostream>

#include "cli/report/text.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

std::size_t checked_count(const std::vector<MemberVerification>& members) {
  return static_cast<std::size_t>(
      std::ranges::count_if(members, [](const MemberVerification& member) { return member.failure.empty(); }));
}

}  // namespace

void write_summary(const std::string& file, const Verification& result, std::ostream& out) {
  out << printable(file) << ": " << count_of(result.functions, "descriptor") << ", " << count_of(result.rows, "row")
      << ", " << count_of(result.checked_pcs, "PC") << " checked: "
      << (result.difference_count == 0 ? "no difference" : count_of(result.difference_count, "difference")) << "; "
      << result.left_out_rows << " left out";
  if (result.unchecked_count != 0) out << ", " << count_of(result.unchecked_count, "row") << " unchecked";
  out << '\n';
}

void write_summary(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out) {
  write_summary(file + ": " + count_of(checked_count(members), "member"), sum_of(members), out);
}

}  // namespace sframe_gen::cli
