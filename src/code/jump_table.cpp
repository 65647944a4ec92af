#include "code/jump_table.hpp"

#include <algorithm>

#include "support/endian.hpp"

namespace sframe_gen::code {

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

JumpTargets each_once(std::vector<std::uint64_t> targets, bool is_sound) {
  std::ranges::sort(targets);
  const auto rest = std::ranges::unique(targets);
  targets.erase(rest.begin(), rest.end());
  const bool has_some = !targets.empty();
  return {std::move(targets), is_sound && has_some};
}

/// A function of N bytes has no use for more entries.
std::uint64_t most_entries(const Range& own) {
  return 64 * own.size() + 256;
}

}  // namespace

JumpTargets read_bounded_table(const elf::Image& image, const Value& table, const Range& own,
                               const std::function<bool(std::uint64_t)>& may_be) {
  const Table entries(image, table);
  if (table.count > entries.size() || table.count > most_entries(own)) return {{}, false};
  std::vector<std::uint64_t> targets;
  for (std::uint64_t i = 0; i < table.count; ++i) {
    if (entries[i] == own.end) continue;
    if (!may_be(entries[i])) return {{}, false};
    targets.push_back(entries[i]);
  }
  return each_once(std::move(targets), true);
}

JumpTargets read_unbounded_table(const elf::Image& image, const Value& table, const Range& own,
                                 const std::set<std::uint64_t>& others,
                                 const std::function<bool(std::uint64_t)>& may_be) {
  const Table entries(image, table);
  const auto next = others.upper_bound(entries.address());
  std::vector<std::uint64_t> targets;
  for (std::uint64_t i = 0; i < std::min(entries.size(), most_entries(own)); ++i) {
    if (next != others.end() && entries.address() + i * entries.entry_size() >= *next) break;
    if (entries[i] == own.end) continue;
    if (!may_be(entries[i])) break;
    targets.push_back(entries[i]);
  }
  return each_once(std::move(targets), true);
}

}  // namespace sframe_gen::code
