#pragma once

#include <vector>

#include "cfi/frame_source.hpp"
#include "elf/image.hpp"
#include "rows/proof/synthesis.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::encode {

/// What of the code of `image` call frame information and rows describe. `holes`: PCs without a row of what FDEs
/// describe, or stubs. `lacking`: of a proof that was asked for rows; else null.
CodeCoverage code_coverage(const elf::Image& image, const cfi::FrameSource& source, const rows::stubs::StubList& stubs,
                           const std::vector<NamedCoverageHole>& holes, const std::vector<rows::proof::Lack>* lacking);

}  // namespace sframe_gen::encode
