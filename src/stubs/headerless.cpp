#include "stubs/headerless.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "elf/dynamic_table.hpp"
#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "stubs/forms.hpp"
#include "stubs/run_builder.hpp"
#include "support/endian.hpp"

namespace sframe_gen::stubs {

namespace {

/// Addresses of the slots that calls through stubs load from; sorted.
std::vector<std::uint64_t> slots_of(const elf::Image& image) {
  const auto dynamic = elf::read_dynamic(image);
  const auto address = elf::find_dynamic(dynamic, DT_JMPREL);
  const auto size = elf::find_dynamic(dynamic, DT_PLTRELSZ);
  std::vector<std::uint64_t> slots;
  if (!address || !size || elf::find_dynamic(dynamic, DT_PLTREL) != DT_RELA) return slots;
  const auto bytes = elf::loaded_bytes(image, *address, *size);
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela))
    slots.push_back(load<std::uint64_t>(bytes.subspan(at), image.endian()));
  std::ranges::sort(slots);
  return slots;
}

/// The code of one made-up section.
class Scan {
 public:
  Scan(std::uint64_t address, std::span<const std::byte> code, const Surroundings& around, sframe::Abi abi)
      : address_(address), code_(code), around_(around), abi_(abi) {}

  /// `by_slot`: where a slot is only what DT_JMPREL names, and no header is known.
  void find(const Surroundings& by_slot, Found& found) const {
    const std::uint64_t step = stub_alignment(abi_);
    for (std::uint64_t at = (step - address_ % step) % step; at < code_.size();) {
      std::optional<RunBuilder> stubs = table_at(at);
      if (!stubs) stubs = jumps_at(at, by_slot);
      if (!stubs) {
        at += step;
        continue;
      }
      const std::uint64_t end = at + stubs->known_bytes();
      found.sections.push_back({address_ + at, address_ + end});
      std::ranges::move(stubs->runs(), std::back_inserter(found.runs));
      at += (stubs->known_bytes() + step - 1) / step * step;
    }
  }

 private:
  /// A header with the entries behind it, in whichever form knows more of them.
  std::optional<RunBuilder> table_at(std::uint64_t at) const {
    std::optional<RunBuilder> best;
    for (const Form& form : forms_for(abi_)) {
      if (!around_.table || form.header == nullptr || !fits(*form.header, at, around_)) continue;
      RunBuilder table(form.name);
      table.add_header(*form.header, address_ + at);
      Surroundings around = around_;
      around.header = address_ + at;
      read_entries(form, at + form.header->size(), around, table);
      // Of a header alone nothing says which linker's it is, nor that it is one.
      if (table.known_bytes() == form.header->size()) continue;
      if (!best || table.known_bytes() > best->known_bytes()) best = std::move(table);
    }
    return best;
  }

  /// Stubs that have no header.
  std::optional<RunBuilder> jumps_at(std::uint64_t at, const Surroundings& by_slot) const {
    for (const Form& form : forms_for(abi_)) {
      if (form.header != nullptr || form.entry_size() % stub_alignment(abi_) != 0) continue;
      RunBuilder jumps(form.name);
      read_entries(form, at, by_slot, jumps);
      if (jumps.known_bytes() != 0) return jumps;
    }
    return {};
  }

  bool fits(const Pattern& pattern, std::uint64_t at, const Surroundings& around) const {
    return pattern.size() <= code_.size() - at && matches(pattern, code_.subspan(at), address_ + at, around);
  }

  void read_entries(const Form& form, std::uint64_t at, const Surroundings& around, RunBuilder& runs) const {
    for (; at < code_.size(); at += form.entry_size()) {
      const auto entry =
          std::ranges::find_if(form.entries, [&](const Pattern* pattern) { return fits(*pattern, at, around); });
      if (entry == form.entries.end()) return;
      runs.add_entry(**entry, address_ + at);
    }
  }

  std::uint64_t address_;
  std::span<const std::byte> code_;
  const Surroundings& around_;
  sframe::Abi abi_;
};

}  // namespace

void find_without_section_headers(const elf::Image& image, const Surroundings& around, sframe::Abi abi, Found& found) {
  const std::vector<std::uint64_t> slots = slots_of(image);
  Surroundings by_slot = around;
  by_slot.is_slot = [&slots](std::uint64_t address) { return std::ranges::binary_search(slots, address); };
  // No header, or entries would be taken without theirs.
  by_slot.header.reset();
  for (const elf::Section& section : image.sections()) {
    if ((section.header.sh_flags & SHF_EXECINSTR) == 0 || section.header.sh_type != SHT_PROGBITS) continue;
    Scan(section.header.sh_addr, image.bytes_of(section), around, abi).find(by_slot, found);
  }
}

}  // namespace sframe_gen::stubs
