// Any bytes as a section, looked up and walked with.

#include "sframe_gen/unwind.hpp"

#include <cstdint>
#include <cstring>

#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

/// The input's first bytes.
struct Setup {
  std::uint8_t family, check, address, pc;
  std::uint32_t seed;
};

/// Memory anywhere, of words that are the same each time and often lead on.
bool read_made_up(void* context, std::uint64_t address, void* bytes) {
  const auto& setup = *static_cast<const Setup*>(context);
  std::uint64_t word = (address ^ setup.seed) * 0x9e3779b97f4a7c15U;
  if (word % 16 == 0) return false;
  if (word % 16 < 8) word = 0x1000 + (word >> 32U) % 0x4000;  // into the functions of most sections
  if (word % 16 > 12) word = address + (word >> 40U) % 256;
  std::memcpy(bytes, &word, sizeof word);
  return true;
}

void look_up(const sframe::SectionView& view, bool checked, std::uint64_t first, std::uint64_t step) {
  for (unsigned i = 0; i < 200; ++i) {
    const std::uint64_t pc = first + i * step;
    const sframe::Lookup found = view.lookup(pc);
    if (found.kind == sframe::Lookup::Kind::Nothing) continue;
    require(!checked || found.kind != sframe::Lookup::Kind::Damaged, "damage was found behind the check");
    require(pc - found.function_start < found.function_size, "another function's row");
    require(found.descriptor < view.function_count(), "a descriptor that there is not");
  }
}

/// Stretches lead on, and what a sound section says at their ends is one thing.
void go_through(const sframe::SectionView& view, bool checked, std::uint64_t first) {
  std::uint64_t end = 0;
  unsigned count = 0;
  for (std::uint64_t pc = first; pc != UINT64_MAX && count < 100; pc = end, ++count) {
    const sframe::Lookup found = view.lookup_stretch(pc, end);
    require(end > pc, "a stretch that leads nowhere");
    const sframe::Lookup last = view.lookup(end - 1);
    require(!checked || (found.kind == last.kind && found.row == last.row && found.row_number == last.row_number),
            "a stretch that is too long");
  }
}

/// A page table changes no answer of a sound section, and leads nowhere in a damaged one.
void look_up_by_pages(const sframe::SectionView& view, bool checked, std::uint64_t first, std::uint64_t step) {
  sframe::PageSlot slots[64];
  sframe::SectionView paged = view;
  paged.use_pages({slots, 1 + step % 64});
  look_up(paged, checked, first, step);
  for (unsigned i = 0; checked && i < 200; ++i) {
    const sframe::Lookup plain = view.lookup(first + i * step);
    const sframe::Lookup found = paged.lookup(first + i * step);
    require(found.kind == plain.kind && found.row == plain.row && found.descriptor == plain.descriptor &&
                found.row_number == plain.row_number,
            "a page table that changes what is found");
  }
}

void walk(const sframe::SectionView& view, Setup setup, std::uint64_t pc) {
  const unwind::Module module{0, ~std::uint64_t{0}, setup.pc % 2 * std::uint64_t{0x10000}, &view};
  unwind::RowSlot rows[8]{};
  unwind::Walked walked;
  walked.modules = {&module, 1};
  walked.read = read_made_up;
  walked.context = &setup;
  walked.signature_mask = 0x007f000000000000;
  if (setup.pc % 4 < 2) walked.rows = rows;
  unwind::Registers registers;
  registers.pc = pc;
  for (std::uint32_t i = 0; i < unwind::Registers::count; ++i) registers.set(i, 0x7000 + setup.seed + 16 * i);
  std::uint64_t pcs[64];
  unwind::Stop stop{};
  const std::size_t count = unwind::Unwinder(walked).walk(registers, pcs, stop);
  require(count != 0 && count <= 64 && (count == 64 || stop != unwind::Stop::Stepped), "a walk without an end");
}

}  // namespace

void unwind(Bytes input) {
  Setup setup{};
  if (input.size() < sizeof setup) return;
  std::memcpy(&setup, input.data(), sizeof setup);
  const Bytes bytes = input.subspan(sizeof setup);
  const std::uint64_t addresses[]{0x2000, 0x20000, 0x400000, ~std::uint64_t{0xfff}};
  const bool checked = setup.check % 2 == 0;
  sframe::SectionView view;
  const auto fault = view.open(bytes, addresses[setup.address % 4],
                               setup.family % 4 == 0 ? sframe::Family::CtfFrame : sframe::Family::SFrame,
                               checked ? sframe::ViewCheck::Everything : sframe::ViewCheck::Header);
  require(fault || view.is_open(), "neither open nor refused");
  if (fault) return;
  look_up(view, checked, 0x1000 + setup.pc, 3);
  look_up(view, checked, addresses[setup.address % 4] - 100 * std::uint64_t{setup.seed % 4096}, setup.seed % 4096);
  look_up_by_pages(view, checked, 0x1000 + setup.pc, 1 + setup.seed % 64);
  go_through(view, checked, setup.seed % 2 == 0 ? 0 : addresses[setup.address % 4] - setup.seed % 65536);
  for (const std::uint64_t pc : {0x1000U, 0x1010U, 0x1044U, 0x1004U + setup.pc}) walk(view, setup, pc);
}

}  // namespace sframe_gen::fuzz
