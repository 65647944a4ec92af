#pragma once

#include <optional>
#include <string>

#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

/// "9 of 12 members converted, 3 left alone (3 is not an ELF file)".
std::string members_of(const Archive& archive);

/// Of all members that were converted. Nothing: none was.
std::optional<Coverage> sum_of(const Archive& archive);

std::size_t converted_count(const Archive& archive);

}  // namespace sframe_gen::cli
