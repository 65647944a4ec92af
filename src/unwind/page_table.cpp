#include "unwind/page_table.hpp"

#include <sys/mman.h>

#include <new>

namespace sframe_gen::unwind {
namespace {

constexpr std::uint64_t page_size = 512;  ///< bytes of code
constexpr std::uint64_t most_slots = (std::uint64_t{4} << 20U) / sizeof(sframe::PageSlot);
/// So few functions are found as fast without.
constexpr std::uint32_t few_functions = 32;

}  // namespace

PageTable* make_page_table(sframe::SectionView& view) {
  if (view.function_count() <= few_functions) return nullptr;
  const std::uint64_t wanted = view.page_slots(page_size);
  if (wanted == 0) return nullptr;
  const std::uint64_t slots = wanted < most_slots ? wanted : most_slots;
  const std::size_t size = sizeof(PageTable) + slots * sizeof(sframe::PageSlot);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const table = ::new (memory) PageTable{size, 1};
  view.use_pages({reinterpret_cast<sframe::PageSlot*>(table + 1), slots});
  return table;
}

void add_user(PageTable* table) {
  if (table != nullptr) ++table->users;
}

void drop_user(PageTable* table) {
  if (table != nullptr && --table->users == 0) ::munmap(table, table->mapped_size);
}

}  // namespace sframe_gen::unwind
