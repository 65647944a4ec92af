#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "support/endian.hpp"

namespace sframe_gen::trace {

/// Where in the middle of a large recording's records one of them may begin, which only whoever comes there from the
/// first one can tell. None: it is not worth it, or nothing there looks like records.
std::optional<std::size_t> guess_record(std::span<const std::byte> records, Endian endian);

}  // namespace sframe_gen::trace
