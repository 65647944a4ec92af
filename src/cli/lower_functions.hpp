#pragma once

#include "cfi/frame_source.hpp"
#include "cli/report.hpp"
#include "emit/encoder.hpp"

namespace sframe_gen::cli {

/// Every function of the source, lowered and encoded in `dialect`, which must outlive the encoder; the report counts on
/// the way. Large files go through several threads; the bytes do not depend on how many. Throws MalformedInput.
emit::SectionEncoder lower_functions(const cfi::FrameSource& source, const emit::Dialect& dialect, Report& report);

}  // namespace sframe_gen::cli
