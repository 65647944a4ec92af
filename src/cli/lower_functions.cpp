#include "cli/lower_functions.hpp"

#include "emit/select.hpp"

namespace sframe_gen::cli {

emit::SectionEncoder lower_functions(cfi::FrameSource& source, Report& report) {
  emit::SectionEncoder encoder(sframe::amd64_traits);
  source.for_each_function([&](const cfi::FunctionFrames& frames) {
    const emit::Selected selected = emit::select(frames);
    for (const sframe::Function& function : selected.functions) encoder.add(function);
    report.add(frames, selected);
  });
  report.dropped = source.dropped();
  return encoder;
}

}  // namespace sframe_gen::cli
