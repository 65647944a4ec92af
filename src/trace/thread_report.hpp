#pragma once

#include <ostream>
#include <string>

#include "trace/options.hpp"
#include "trace/report/json_report.hpp"
#include "trace/report/totals.hpp"

namespace sframe_gen::trace {

struct WalkedThread {
  ThreadStack thread;
  Stack stack;
};

/// Threads of a process or core file, as the options want them written.
class ThreadReport {
 public:
  ThreadReport(const Options& options, std::ostream& out) : options_(options), out_(out) {}

  void begin(int pid, const std::string& name);
  void add(const WalkedThread& walked);

  const Totals& totals() const { return totals_; }

 private:
  const Options& options_;
  std::ostream& out_;
  Totals totals_;
};

}  // namespace sframe_gen::trace
