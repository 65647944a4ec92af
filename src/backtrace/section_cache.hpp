#pragma once

#include <cstdint>

#include "sframe_gen/unwind.h"

namespace sframe_gen::backtrace {

/// The directory with sections of files that have none, which `sframe-gen --to-cache` fills.
class SectionCache {
 public:
  /// The variable SFRAME_BACKTRACE_CACHE of `environment` names it, or else it is ~/.cache/sframe.
  explicit SectionCache(char** environment);
  ~SectionCache();
  SectionCache(const SectionCache&) = delete;
  SectionCache& operator=(const SectionCache&) = delete;

  /// Whether there is one that belongs to the user or to root, and to which no other user may write.
  bool is_open() const { return directory_ >= 0; }
  /// Whether there is one that others may have written to.
  bool is_refused() const { return is_refused_; }
  /// As sframe_unwind_provide_file of a SectionCache. The bytes stay for good.
  static int provide(void* cache, const sframe_unwind_file* file, const void** bytes, std::size_t* size,
                     std::uint64_t* address);
  /// Returns how many sections there were. Damaged ones are among them: nothing but their headers is looked at.
  unsigned provided() const { return provided_; }

 private:
  int directory_ = -1;
  bool is_refused_ = false;
  unsigned provided_ = 0;
};

/// Returns the value of a variable, or null. A program that walks before any constructor has no environment yet that
/// getenv() would find.
const char* find_variable(char** environment, const char* name);

}  // namespace sframe_gen::backtrace
