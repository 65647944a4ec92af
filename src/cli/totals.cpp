#include "cli/totals.hpp"

#include <algorithm>
#include <ostream>

#include "cli/report/json.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

const char* name_of(Action action) {
  return action == Action::Remove   ? "restored"
         : action == Action::Verify ? "verified"
         : action == Action::Check  ? "accepted"
                                    : "converted";
}

}  // namespace

void Totals::add(const FileResult& result) {
  using What = FileResult::What;
  done_ += result.what == What::Done ? 1 : 0;
  unchecked_ += result.what == What::Unchecked ? 1 : 0;
  refused_ += result.what == What::Refused ? 1 : 0;
  failed_ += result.what == What::Failed ? 1 : 0;
  rows_ += result.rows;
  growth_ += result.growth;
  if (result.reason.empty()) return;
  const auto known = std::ranges::find(reasons_, result.reason, &std::pair<std::string, std::uint64_t>::first);
  if (known == reasons_.end()) {
    reasons_.emplace_back(result.reason, 1);
  } else {
    ++known->second;
  }
}

int Totals::status() const {
  constexpr int something_failed = 1, something_unchecked = 3;
  if (failed_ != 0) return something_failed;
  return unchecked_ != 0 ? something_unchecked : 0;
}

void Totals::write(Action action, std::ostream& out) const {
  out << count_of(done_ + unchecked_ + refused_ + failed_, "file") << ": " << done_ << ' ' << name_of(action) << ", ";
  if (unchecked_ != 0) out << unchecked_ << " not in whole, ";
  out << refused_ << " refused, " << failed_ << " failed; " << count_of(rows_, "row") << ", "
      << (growth_ < 0 ? -growth_ : growth_) << (growth_ < 0 ? " bytes taken away\n" : " bytes added\n");
  for (const auto& [reason, count] : reasons_) out << "  " << count << ' ' << printable(reason) << '\n';
}

void Totals::write_json(Action action, std::ostream& out) const {
  std::vector<std::pair<std::string, std::uint64_t>> counts{{name_of(action), done_}};
  if (action == Action::Verify) counts.emplace_back("unchecked", unchecked_);
  counts.insert(counts.end(), {{"refused", refused_}, {"failed", failed_}, {"rows", rows_}});
  write_json_total(counts, growth_, reasons_, out);
}

}  // namespace sframe_gen::cli
