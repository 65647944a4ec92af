#pragma once

#include "cli/given_options.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::cli {

/// The format that the options choose. Throws UsageError.
OutputFormat format_of(const GivenOptions& given);

}  // namespace sframe_gen::cli
