#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"

namespace sframe_gen::trace {

/// Samples with the same frames counted together, in the form that flame graphs are made of:
/// "bash;main;read;vfs_read_[k] 12".
class FoldedStacks {
 public:
  void add(KernelNames& kernel, const Sample& sample);
  /// Thread name and functions from the outermost one, and how often; in order of their text.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void write(std::ostream& out) const;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace sframe_gen::trace
