#include "cli/report/archive.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// Without the advice that some reasons end in.
std::string short_form(const std::string& why_not) {
  return why_not.substr(0, why_not.find("; "));
}

/// In the order in which they first occur.
std::vector<std::pair<std::string, std::uint64_t>> reasons_of(const Archive& archive) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons;
  for (const ArchiveMember& member : archive.members) {
    const auto* const why_not = std::get_if<std::string>(&member.outcome);
    if (why_not == nullptr) continue;
    const std::string reason = short_form(*why_not);
    const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, std::uint64_t>::first);
    if (known == reasons.end()) {
      reasons.emplace_back(reason, 1);
    } else {
      ++known->second;
    }
  }
  return reasons;
}

}  // namespace

std::size_t converted_count(const Archive& archive) {
  const auto is_converted = [](const ArchiveMember& m) { return std::holds_alternative<Object>(m.outcome); };
  return static_cast<std::size_t>(std::ranges::count_if(archive.members, is_converted));
}

std::string members_of(const Archive& archive) {
  const std::size_t converted = converted_count(archive);
  std::string text = std::to_string(converted) + " of " + count_of(archive.members.size(), "member") + " converted";
  const char* separator = " left alone (";
  if (const auto reasons = reasons_of(archive); !reasons.empty()) {
    text += ", " + std::to_string(archive.members.size() - converted);
    for (const auto& [reason, count] : reasons) {
      text += separator + std::to_string(count) + ' ' + reason;
      separator = ", ";
    }
    text += ')';
  }
  return text;
}

std::optional<Coverage> sum_of(const Archive& archive) {
  std::optional<Coverage> sum;
  for (const ArchiveMember& member : archive.members) {
    const auto* const object = std::get_if<Object>(&member.outcome);
    if (object == nullptr) continue;
    if (!sum) sum.emplace();
    sum->append(object->coverage);
  }
  return sum;
}

}  // namespace sframe_gen::cli
