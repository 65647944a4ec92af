// Walks through files that have no section, or not for all of their code, after asking for sections that are translated
// in memory. usage: unwind-translated missing | all

#include <sys/time.h>

#include <cstdlib>
#include <cstring>

#include "both_walks.hpp"
#include "sframe_gen/translated_sections.hpp"

namespace {

using namespace sframe_gen::unwind;

BothWalks walks;

int on_compare(const void*, const void*) {
  walk_both(walks);
  return 0;
}

void through_libc() {
  int numbers[2]{};
  std::qsort(numbers, 2, sizeof numbers[0], on_compare);
}

/// Aligned, with arguments on the stack: the CFA is based on a third register, which requires a flexible FDE.
[[gnu::noinline]] void realigned(int size, int, int, int, int, int, void (*action)()) {
  alignas(64) char bytes[64];
  auto* const more = static_cast<char*>(__builtin_alloca(static_cast<std::size_t>(size)));
  asm volatile("" : : "r"(bytes), "r"(more) : "memory");
  action();
  asm volatile("" : : "r"(bytes), "r"(more) : "memory");
}

void walk_through_all() {
  realigned(17, 2, 3, 4, 5, 6, through_libc);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const bool all = std::strcmp(arguments[1], "all") == 0;
  bool good = sframe_unwind_backtrace_prepare() == 0;
  walk_through_all();
  std::printf("before: %d frames of %d\n", walks.ours.count, walks.libgccs.count);
  good &= walks.ours.count < walks.libgccs.count;

  sframe_gen::TranslatedSections sections;
  const unsigned flags = all ? SFRAME_UNWIND_PROVIDE_ALL : SFRAME_UNWIND_PROVIDE_MISSING;
  good &= sframe_unwind_backtrace_prepare_with(sframe_gen::TranslatedSections::provide, &sections, flags) == 0;
  walk_through_all();
  good &= agree("translated", walks, 5);
  // A new list keeps them.
  good &= sframe_unwind_backtrace_prepare() == 0;
  walk_through_all();
  good &= agree("kept", walks, 5);
  for (const auto& failed : sections.failed()) {
    std::printf("failed: %s\n", failed.reason.c_str());
    good = false;
  }
  sframe_unwind_backtrace_release();
  return good ? 0 : 1;
}
