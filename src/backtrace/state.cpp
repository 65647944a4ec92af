#include "backtrace/state.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "backtrace/originals.hpp"
#include "backtrace/section_cache.hpp"
#include "sframe_gen/unwind.h"

namespace sframe_gen::backtrace {

constinit bool is_prepared = false;
constinit bool is_verbose = false;

namespace {

std::uint64_t walks, frames;
std::uint64_t originals_by_reason[Reasons];
unsigned cached_sections;
bool is_cache_refused;
struct stat error_output;  ///< as it was at the start: later the number may be another file's

const char* text_of(int why) {
  switch (why) {
    case NotPrepared:
      return "nothing was prepared";
    case FirstCall:
      return "the first call";
    case RowsOnly:
      return "code without call frame information";
    case OtherFunction:
      return "the original is another library's";
    case MoreAsked:
      return "more was asked of a cursor of libunwind";
    default:
      return sframe_unwind_stop_text(why);
  }
}

void write_line(const char* line, int length) {
  if (length > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

/// Looks at the loaded files and, for those without a section, into the cache.
bool prepare_walks(char** environment) {
  constexpr unsigned flags = SFRAME_UNWIND_NO_PAGES | SFRAME_UNWIND_ONLY_PREPARED | SFRAME_UNWIND_KEEP_LISTS;
  SectionCache cache(environment);
  is_cache_refused = cache.is_refused();
  if (!cache.is_open()) return sframe_unwind_backtrace_prepare_with(nullptr, nullptr, flags) == 0;
  constexpr unsigned with_cache = flags | SFRAME_UNWIND_TRUST_PROVIDED;
  const bool prepared = sframe_unwind_backtrace_prepare_files(SectionCache::provide, &cache, with_cache) == 0;
  cached_sections = cache.provided();
  return prepared;
}

/// Before main. A program that walks before any constructor has no environment yet that getenv() would find: the
/// original has the dynamic loader load a library, which glibc 2.36 is not prepared for then. Who starts a
/// set-user-ID program decides nothing: it has no variables here.
[[gnu::constructor]] void prepare(int, char**, char** environment) {
  char* nothing[] = {nullptr};
  if (::getauxval(AT_SECURE) != 0) environment = nothing;
  const char* const wish = find_variable(environment, "SFRAME_BACKTRACE");
  if (wish != nullptr && std::strcmp(wish, "0") == 0) return;
  is_verbose = wish != nullptr && std::strcmp(wish, "verbose") == 0 && ::fstat(STDERR_FILENO, &error_output) == 0;
  find_loaded_originals();
  __atomic_store_n(&is_prepared, prepare_walks(environment), __ATOMIC_RELEASE);
}

[[gnu::destructor]] void report() {
  struct stat now {};
  if (!is_verbose || ::fstat(STDERR_FILENO, &now) != 0) return;
  if (now.st_dev != error_output.st_dev || now.st_ino != error_output.st_ino) return;
  std::uint64_t others = 0;
  for (const std::uint64_t count : originals_by_reason) others += count;
  char line[160];
  write_line(line, std::snprintf(line, sizeof line,
                                 "libsframe-backtrace[%d]: %lu walks by rows, %lu frames; %lu by the original\n",
                                 static_cast<int>(::getpid()), walks, frames, others));
  if (cached_sections != 0) {
    write_line(line, std::snprintf(line, sizeof line, "libsframe-backtrace[%d]: %u sections from the cache\n",
                                   static_cast<int>(::getpid()), cached_sections));
  } else if (is_cache_refused) {
    write_line(line, std::snprintf(line, sizeof line,
                                   "libsframe-backtrace[%d]: the cache is not used, as others may write to it\n",
                                   static_cast<int>(::getpid())));
  }
  for (int why = 0; why != Reasons; ++why) {
    if (originals_by_reason[why] == 0) continue;
    write_line(line, std::snprintf(line, sizeof line, "libsframe-backtrace[%d]: %lu by the original: %s\n",
                                   static_cast<int>(::getpid()), originals_by_reason[why], text_of(why)));
  }
}

}  // namespace

void count_walk(int walked) {
  if (!is_verbose) [[likely]]
    return;
  __atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&frames, static_cast<std::uint64_t>(walked), __ATOMIC_RELAXED);
}

void count_frame() {
  if (is_verbose) __atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
}

void count_original(int why) {
  if (is_verbose) __atomic_fetch_add(&originals_by_reason[why], 1, __ATOMIC_RELAXED);
}

}  // namespace sframe_gen::backtrace
