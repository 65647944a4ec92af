#pragma once

#include <memory>

#include "cfi/frame_source.hpp"
#include "elf/image.hpp"

namespace sframe_gen::encode {

/// Returns the functions that Go's linker has described in a program or library; null if it has not.
std::shared_ptr<const cfi::OtherFunctions> go_functions_of(const elf::Image& image);

}  // namespace sframe_gen::encode
