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
#include "trace/report/weight.hpp"

namespace sframe_gen::trace::report {

enum class TopOrder : std::uint8_t { Total, Self };

/// How functions are listed.
struct TopStyle {
  TopOrder order = TopOrder::Total;
  std::size_t most = 50;    ///< functions
  std::size_t columns = 0;  ///< of a line, for which names are cut; 0: any number
};

/// How many samples of an event have each function: innermost ("self"), or anywhere in their stacks ("total"). A
/// function that calls itself counts once. Shares are of the sums of periods, as perf has them.
class TopFunctions {
 public:
  void add(recorded::KernelNames& kernel, const recorded::Sample& sample);
  /// Writes functions in the order that is asked for, and then by the other share. Lines about the others begin with #.
  void write(std::ostream& out, const recorded::SampledEvent& event, const TopStyle& style) const;

 private:
  struct Function {
    std::string name, file;
    std::uint64_t samples = 0;
    std::uint64_t total = 0, self = 0;           ///< sums of periods
    std::uint64_t last = 0;                      ///< sample that it was counted in
    bool is_inlined = false, is_called = false;  ///< somewhere
  };

  void count(std::string_view name, std::string_view file, std::uint64_t period, bool is_inlined, bool is_innermost);
  void write_head(std::ostream& out, const recorded::SampledEvent& event, std::size_t column) const;

  TotalWeight sum_;
  std::vector<Function> functions_;
  SeededMap<std::string, std::size_t> index_of_;  ///< by file and name
  std::string key_;                               ///< its room is used again
};

}  // namespace sframe_gen::trace::report
