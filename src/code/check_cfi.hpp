#pragma once

#include <cstdint>
#include <functional>

#include "elf/image.hpp"
#include "sframe_gen/code_check.hpp"

namespace sframe_gen::code {

/// Proves the functions of a linked file, and compares their CFI with each proved state.
CodeCheck check_cfi(const elf::Image& image, const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace sframe_gen::code
