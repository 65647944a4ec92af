#include "cli/heap.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

namespace sframe_gen::cli {

namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;

std::uintptr_t end_of_heap() {
  return reinterpret_cast<std::uintptr_t>(::sbrk(0));
}

/// Lets malloc ask for more, so that what it writes at the front of the new memory stands in the two pages before a
/// place where a huge page can be: the system lends one only for memory that nobody has written to. Returns that place.
std::uintptr_t grow_heap() {
  // What the heap has left would do for the small block.
  [[maybe_unused]] static void* volatile left;
  if (const std::size_t top = ::mallinfo2().keepcost; top > page) left = std::malloc(top - page / 2);
  const std::uintptr_t end = end_of_heap(), place = (end + 2 * page + huge_page - 1) / huge_page * huge_page;
  ::sbrk(static_cast<std::intptr_t>(place - 2 * page - end));
  void* volatile block = std::malloc(page);  // volatile, or the compiler drops it as unused
  std::free(block);
  return place;
}

}  // namespace

void keep_freed_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // The most that malloc lets us keep in the heap; by default it maps each large table anew, page by page.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

void expect_allocations(std::size_t bytes) {
  bytes = (bytes + huge_page - 1) / huge_page * huge_page;
  if (bytes >= INT_MAX) return;
  // One heap for all threads: others' would come page by page.
  ::mallopt(M_ARENA_MAX, 1);
  // The next growth of the heap brings this much at once, and nothing is given back before the end.
  ::mallopt(M_TOP_PAD, static_cast<int>(bytes));
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  const std::uintptr_t begin = grow_heap();
  auto* const end = static_cast<std::byte*>(::sbrk(0));
  if (end_of_heap() <= begin) return;
  const std::size_t size = end_of_heap() - begin;
  ::madvise(end - size, size, MADV_HUGEPAGE);
}

void prepare_heap(const std::filesystem::path& file, bool compact) {
  // ls (0.15 MB) has 60 page faults more than cp, which take no longer than a huge page does.
  constexpr std::uintmax_t worth_it = 512 << 10;
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(file, ignored);
  if (ignored || size < worth_it) return;
  expect_allocations((compact ? 24 : 8) * (size / 20));
}

}  // namespace sframe_gen::cli
