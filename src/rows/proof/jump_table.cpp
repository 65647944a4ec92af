#include "rows/proof/jump_table.hpp"

#include <algorithm>

#include "rows/proof/conditions.hpp"
#include "rows/proof/state_rules.hpp"
#include "support/endian.hpp"

namespace sframe_gen::rows::proof {

namespace {

class Table {
 public:
  Table(const elf::Image& image, const Value& table)
      : address_(static_cast<std::uint64_t>(table.number)),
        entry_size_(table.is(Value::Kind::TableTarget) ? 4 : 8),
        bytes_(elf::loaded_bytes_from(image, address_)) {}

  std::uint64_t size() const { return bytes_.size() / entry_size_; }
  std::uint64_t entry_size() const { return entry_size_; }
  std::uint64_t address() const { return address_; }
  std::uint64_t operator[](std::uint64_t i) const {
    const auto entry = bytes_.subspan(i * entry_size_);
    if (entry_size_ == 8) return load<std::uint64_t>(entry, Endian::Little);
    const auto distance = static_cast<std::int32_t>(load<std::uint32_t>(entry, Endian::Little));
    return address_ + static_cast<std::uint64_t>(std::int64_t{distance});
  }

 private:
  std::uint64_t address_;
  std::uint64_t entry_size_;
  std::span<const std::byte> bytes_;
};

/// Sorts the targets; without any, the table is not sound.
JumpTargets each_once(JumpTargets table) {
  std::ranges::sort(table.targets);
  table.targets.erase(std::unique(table.targets.begin(), table.targets.end()), table.targets.end());
  table.is_sound = !table.targets.empty();
  return table;
}

/// A function of N bytes has no use for more entries.
std::uint64_t most_entries(const Range& own) {
  return 64 * own.size() + 256;
}

}  // namespace

JumpTargets read_bounded_table(const elf::Image& image, const Value& table, const Range& own,
                               const std::function<bool(std::uint64_t)>& may_be) {
  const Table entries(image, table);
  JumpTargets result{{}, false, 0};
  if (table.count > entries.size() || table.count > most_entries(own)) return result;
  for (; result.entries < table.count; ++result.entries) {
    const std::uint64_t target = entries[result.entries];
    if (target == own.end) continue;
    if (!may_be(target)) return result;
    result.targets.push_back(target);
  }
  return each_once(std::move(result));
}

JumpTargets read_unbounded_table(const elf::Image& image, const Value& table, const Range& own,
                                 const std::optional<std::uint64_t>& end,
                                 const std::function<bool(std::uint64_t)>& may_be) {
  const Table entries(image, table);
  JumpTargets result{{}, false, 0};
  for (; result.entries < std::min(entries.size(), most_entries(own)); ++result.entries) {
    if (end && entries.address() + result.entries * entries.entry_size() >= *end) break;
    const std::uint64_t target = entries[result.entries];
    if (target == own.end) continue;
    if (!may_be(target)) break;
    result.targets.push_back(target);
  }
  return each_once(std::move(result));
}

TableReader::TableReader(Program& program, const Borders& borders, Listing& listing, const Range& own)
    : program_(program), borders_(borders), listing_(listing), own_(own) {}

JumpTargets TableReader::read(const Value& table, const State& state, const Spend& spend) {
  if (conditions::is_bounded(table)) {
    // Another function's start is a tail. Reading by contents would end there.
    const auto may_be_tail = [&](std::uint64_t target) { return may_lead_to(target) || program_.is_start(target); };
    JumpTargets targets = read_bounded_table(program_.image(), table, own_, may_be_tail);
    if (targets.is_sound) return targets;
  }
  if (program_.options().bounded_tables_only) return {{}, false};
  const auto address = static_cast<std::uint64_t>(table.number);
  unbounded_.insert(address);
  const std::size_t known = listing_.size();
  const std::set<std::uint64_t>& others =
      borders_.own_cfi() != nullptr ? listing_.taken_addresses() : listing_.addresses_taken_so_far();
  if (!spend(listing_.size() - known)) return {{}, false};
  std::optional<std::uint64_t> end = program_.taken_after(address);
  const auto next = others.upper_bound(address);
  if (next != others.end()) end = std::min(end.value_or(*next), *next);
  return read_unbounded_table(program_.image(), table, own_, end,
                              [&](std::uint64_t target) { return may_lead_with(state, target); });
}

bool TableReader::may_lead_to(std::uint64_t target) {
  if (own_.contains(target)) return true;
  const cfi::Function* const described = program_.described(target);
  if (described != nullptr) return !program_.is_start(described->start);
  return borders_.own_cfi() == nullptr && program_.is_undescribed(target) && !program_.is_start(target);
}

bool TableReader::may_lead_with(const State& state, std::uint64_t target) {
  if (borders_.own_cfi() == nullptr) return own_.contains(target);
  if (!may_lead_to(target) || (own_.contains(target) && !listing_.has(target))) return false;
  // CFI ends the table as well: what comes after it leads to code of another depth.
  const cfi::Function* const described = program_.described(target);
  return described == nullptr || !disagreement(program_.rules()[rule_at(*described, target)], state);
}

}  // namespace sframe_gen::rows::proof
