#include <algorithm>

#include "elf/plan/draft.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// What Linux before 6.12 reads of a mapped file to find its build-id, in bytes.
constexpr std::uint64_t first_page = 4096;

}  // namespace

/// Nothing if it is not in the first page, where nobody would miss it.
std::optional<std::uint64_t> Draft::build_id_offset() const {
  const auto id = image_->build_id();
  if (id.empty()) return {};
  const auto offset = static_cast<std::uint64_t>(id.data() - image_->file_bytes().data());
  return offset + id.size() <= first_page ? std::optional(offset) : std::nullopt;
}

bool Draft::moves_build_id() const {
  const auto offset = build_id_offset();
  if (!offset) return false;
  std::uint64_t now = map_(*offset);
  for (const Placed& placed : groups_) {
    const FileRange& range = placed.group.range;
    if (range.begin <= *offset && *offset < range.end) now = placed.offset + (*offset - range.begin);
  }
  return now + image_->build_id().size() > first_page;
}

Cost Draft::cost() const {
  Cost cost = least_cost(attempt_);
  cost.waste = wastes_;
  const bool fixed = image_->header().e_type == ET_EXEC;
  cost.in_tail =
      fixed && std::any_of(groups_.begin(), groups_.end(), [](const Placed& placed) { return placed.in_tail; });
  cost.build_id = moves_build_id();
  for (const Insertion& insertion : map_.insertions()) cost.growth += insertion.bytes;
  return cost;
}

std::string Draft::description() const {
  const Cost costs = cost();
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const Placed& placed : groups_) {
    for (const std::uint32_t index : placed.group.sections) add(image_->sections()[index].name + " moves");
  }
  if (costs.in_tail) add("the new segment holds them too");
  if (costs.build_id) add("the build-id leaves the first page");
  add("inserts " + std::to_string(costs.growth) + " bytes" + (costs.waste ? ", most of them unused" : ""));
  return text;
}

}  // namespace sframe_gen::elf
