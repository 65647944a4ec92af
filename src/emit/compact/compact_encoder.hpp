#pragma once

#include <cstdint>

#include "emit/compact/row_stream.hpp"
#include "emit/dialect.hpp"
#include "emit/encoder.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::emit::compact {

struct Compacted {
  SectionEncoder encoder;
  Compaction saved;
  std::uint64_t flexible_descriptors = 0, mask_descriptors = 0;
};

/// The section that gives each PC of the stream's functions its row, in few bytes: at most `dialect.compact_rows` rows
/// a descriptor, and as much shared as `dialect` allows. Takes the stream's rows. Throws std::length_error as
/// SectionEncoder does.
Compacted encode(RowStream& stream, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
