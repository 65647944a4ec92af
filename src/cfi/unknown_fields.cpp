#include "cfi/unknown_fields.hpp"

#include <algorithm>
#include <vector>

#include "cfi/pointer.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

using object::UnknownRelocation;

class UnknownFields {
 public:
  UnknownFields(const FrameTable& table, std::span<const UnknownRelocation> unknown)
      : table_(table), unknown_(unknown), of_cies_(table.cies.size()) {
    for (std::size_t i = 0; i < of_cies_.size(); ++i) of_cies_[i] = first_in(table.cies[i].initial_instructions);
  }

  /// What keeps the FDE from being read; null: nothing.
  const UnknownRelocation* first_of(const Fde& fde) const {
    if (const auto* const in_cie = of_cies_[fde.cie_index]) return in_cie;
    if (const auto* const in_addresses = first_in(table_.start_field_of(fde), end_of_addresses(fde)))
      return in_addresses;
    return first_in(fde.instructions);
  }

 private:
  const UnknownRelocation* first_in(std::uint64_t begin, std::uint64_t end) const {
    const auto found = std::ranges::lower_bound(unknown_, begin, {}, &UnknownRelocation::field_offset);
    return found != unknown_.end() && found->field_offset < end ? &*found : nullptr;
  }

  const UnknownRelocation* first_in(std::span<const std::byte> part) const {
    const std::uint64_t begin = table_.offset_of(part);
    return first_in(begin, begin + part.size());
  }

  std::uint64_t end_of_addresses(const Fde& fde) const {
    const std::uint64_t begin = table_.start_field_of(fde);
    ByteReader reader(table_.section_bytes.subspan(begin), table_.endian, table_.origin, begin);
    for (const char* const what : {"function start", "function size"})
      read_pointer_value(reader, table_.cies[fde.cie_index].pointer_encoding, what);
    return reader.offset();
  }

  const FrameTable& table_;
  std::span<const UnknownRelocation> unknown_;
  std::vector<const UnknownRelocation*> of_cies_;
};

}  // namespace

void leave_out_unknown_fields(FrameTable& table, std::span<const UnknownRelocation> unknown) {
  if (unknown.empty()) return;
  const UnknownFields fields(table, unknown);
  std::erase_if(table.fdes, [&](const Fde& fde) {
    const UnknownRelocation* const relocation = fields.first_of(fde);
    if (relocation == nullptr) return false;
    table.leave_out(fde.section_offset, table.origin.section + '+' + hex(relocation->field_offset) +
                                            ": relocation of type " + hex(relocation->type) + " is not known");
    return true;
  });
}

}  // namespace sframe_gen::cfi
