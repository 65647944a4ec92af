#include "support/let_go.hpp"

#include <sys/mman.h>

#include "support/mapped_file.hpp"

namespace sframe_gen {

void let_go(const MappedFile& file) {
  // A smaller one's pages are fewer than those of the program itself, and the call interrupts all threads.
  constexpr std::size_t worth_it = 16 << 20;
  const auto bytes = file.bytes();
  // Nothing was ever written to the mapping, so nothing is lost.
  if (bytes.size() >= worth_it) ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

}  // namespace sframe_gen
