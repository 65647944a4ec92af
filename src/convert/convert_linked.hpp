#pragma once

#include <filesystem>

#include "elf/image.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

namespace sframe_gen::convert {

/// The whole way of a program or library: read, encode, place, write. What `opened` was made from by an earlier
/// conversion is converted again. Throws Failure; `output` is then as it was.
LinkedOutcome convert_linked(const elf::Image& opened, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer);

}  // namespace sframe_gen::convert
