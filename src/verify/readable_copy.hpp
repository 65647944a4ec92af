#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/endian.hpp"
#include "verify/frame_section_check.hpp"

namespace sframe_gen::verify {

/// A copy of a CFI section that every libdwarf reads; null where the section is one. Each letter of aarch64 becomes
/// 'S', which has no data either, and what is taken in DW_CFA_nop of the record before.
std::shared_ptr<const std::vector<std::byte>> readable_copy(cfi::FrameSection kind, std::span<const std::byte> bytes,
                                                            Endian endian, const CheckedFrameSection& checked);

/// The instructions of the record at `record`, in bytes from the section's start, without those that the copy made of
/// what is taken in.
std::span<const std::byte> without_taken_in(const CheckedFrameSection& checked, std::uint64_t record,
                                            std::span<const std::byte> instructions);

}  // namespace sframe_gen::verify
