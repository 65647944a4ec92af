#pragma once

#include <cstdint>

#include "emit/compact/rows.hpp"
#include "emit/dialect.hpp"
#include "emit/encoder.hpp"
#include "sframe_gen/counts.hpp"

namespace sframe_gen::emit::compact {

struct Compacted {
  SectionEncoder encoder;
  Compaction saved;
  std::uint64_t flexible_descriptors = 0, mask_descriptors = 0;
};

/// Returns the section that gives each PC of the stream's functions its row, in few bytes: with at most
/// `dialect.compact_rows` rows a descriptor, and as much shared as `dialect` allows. Throws std::length_error as
/// SectionEncoder does.
Compacted encode(const RowStream& stream, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
