#pragma once

#include <cstddef>
#include <string>

#include "sframe_gen/section.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::sframe {

/// Of something that does not hinder reading: noted where that is asked for, else thrown as MalformedInput.
inline void remark(const Strictness& strictness, const ByteReader& reader, std::uint64_t offset,
                   const std::string& what) {
  constexpr std::size_t most_remarks = 16;  // a damaged section may have one for each of its bytes
  if (strictness.remarks == nullptr) reader.fail(offset, what);
  if (strictness.remarks->size() < most_remarks)
    strictness.remarks->push_back(MalformedInput(reader.origin(), offset, what).what());
}

}  // namespace sframe_gen::sframe
