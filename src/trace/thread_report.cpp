#include "trace/thread_report.hpp"

#include <optional>

#include "trace/report/text_report.hpp"

namespace sframe_gen::trace {

void ThreadReport::begin(int pid, const std::string& name) {
  if (options_.form == Form::Text) write_process(out_, pid, name);
}

void ThreadReport::add(const WalkedThread& walked) {
  const auto& [thread, stack] = walked;
  const bool is_missing = !thread.missing.empty();
  const std::optional<Cut> cut = is_missing ? std::nullopt : cut_of(stack);
  if (is_missing) {
    totals_.add_missing("thread " + thread.missing);
  } else {
    totals_.add(stack, cut);
  }
  if (options_.form == Form::Json) return write_json(out_, thread, stack, cut);
  write_thread(out_, thread.thread, thread.name, thread.signal);
  if (is_missing) {
    out_ << "    " << thread.missing << '\n';
  } else {
    write_stack(out_, stack, cut);
  }
}

}  // namespace sframe_gen::trace
