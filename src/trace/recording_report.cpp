#include "trace/recording_report.hpp"

#include <cerrno>
#include <fstream>

#include "sframe_gen/error.hpp"
#include "trace/report/flame_graph.hpp"
#include "trace/report/json_report.hpp"

namespace sframe_gen::trace {

namespace {

void write_picture(const std::filesystem::path& path, const FoldedStacks& stacks) {
  std::ofstream file(path, std::ios::binary);
  write_flame_graph(file, stacks);
  file.close();
  if (!file) throw SystemFailure(path.string(), "write", errno);
}

}  // namespace

void RecordingReport::add(const Sample& sample, const std::optional<Cut>& cut) {
  if (sample.has_user_stack) totals_.add(sample.user, cut);
  if (options_.form == Form::Folded || !options_.flame_graph.empty()) return folded_.add(kernel_, sample);
  if (options_.form == Form::Json) return write_json(out_, kernel_, sample, cut);
  text_.add(sample, cut);
}

void RecordingReport::finish() {
  text_.finish();
  if (options_.form == Form::Folded) folded_.write(out_);
  if (!options_.flame_graph.empty()) write_picture(options_.flame_graph, folded_);
}

}  // namespace sframe_gen::trace
