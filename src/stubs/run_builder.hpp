#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stubs/pattern.hpp"
#include "stubs/recognize.hpp"

namespace sframe_gen::stubs {

/// Puts stubs that stand one behind the other into runs.
class RunBuilder {
 public:
  explicit RunBuilder(std::string_view form) : form_(form) {}

  void add_header(const Pattern& pattern, std::uint64_t start);
  /// Joins the run before it if it unwinds alike.
  void add_entry(const Pattern& pattern, std::uint64_t start);

  std::uint64_t known_bytes() const { return known_bytes_; }
  std::vector<Run>& runs() { return runs_; }

 private:
  void append(const Pattern& pattern, std::uint64_t start, bool is_entry);

  std::string_view form_;
  std::vector<Run> runs_;
  bool last_is_entry_ = false;
  const Pattern* joined_ = nullptr;  ///< the last run has grown by such an entry; others like it fit, too
  std::uint64_t known_bytes_ = 0;
};

}  // namespace sframe_gen::stubs
