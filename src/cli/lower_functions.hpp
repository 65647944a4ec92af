#pragma once

#include "cfi/frame_source.hpp"
#include "cli/report.hpp"
#include "emit/encoder.hpp"

namespace sframe_gen::cli {

/// Every function of the source, lowered and encoded; the report counts on the way. Throws MalformedInput.
emit::SectionEncoder lower_functions(cfi::FrameSource& source, Report& report);

}  // namespace sframe_gen::cli
