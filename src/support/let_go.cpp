#include "support/let_go.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "support/mapped_file.hpp"

namespace sframe_gen {

void let_go(const MappedFile& file) {
  // A smaller one's pages are fewer than those of the program itself, and the call interrupts all threads.
  constexpr std::size_t worth_it = 16 << 20;
  if (file.bytes().size() >= worth_it) let_go(file, 0, file.bytes().size());
}

void let_go(const MappedFile& file, std::uint64_t begin, std::uint64_t end) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = file.bytes();
  const std::uint64_t first = (begin + page - 1) / page * page;
  // The last page of a file may be one in part.
  const std::uint64_t last = end == bytes.size() ? end : end / page * page;
  if (first >= last) return;
  // Nothing was ever written to the mapping, so nothing is lost.
  ::madvise(const_cast<std::byte*>(bytes.data()) + first, last - first, MADV_DONTNEED);
}

}  // namespace sframe_gen
