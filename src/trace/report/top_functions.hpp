#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"

namespace sframe_gen::trace {

/// How many samples have each function: innermost ("self"), or anywhere in their stacks ("total"). A function that
/// calls itself counts once.
class TopFunctions {
 public:
  void add(KernelNames& kernel, const Sample& sample);
  /// Writes at most `most` functions, by their total and then their self, as `perf report --stdio` does. Lines about
  /// the others begin with #.
  void write(std::ostream& out, std::size_t most) const;

 private:
  struct Function {
    std::string name, file;
    std::uint64_t total = 0, self = 0;
    std::uint64_t last = 0;  ///< sample that it was counted in
  };

  void count(std::string_view name, std::string_view file, bool is_innermost);

  std::uint64_t samples_ = 0;
  std::vector<Function> functions_;
  SeededMap<std::string, std::size_t> index_of_;  ///< by file and name
  std::string key_;                               ///< its room is used again
};

}  // namespace sframe_gen::trace
