#pragma once

#include <elf.h>

#include <cstdint>

namespace sframe_gen::elf {

/// Section type of .sframe (SFrame V3, section 2; GNU ABI OS-specific range). Not in the <elf.h> of glibc 2.36.
inline constexpr std::uint32_t section_type_gnu_sframe = 0x6ffffff4;
/// Program header type that covers .sframe.
inline constexpr std::uint32_t segment_type_gnu_sframe = 0x6474e554;

/// SHT_RELR, DT_RELRSZ and DT_RELR: in <elf.h> from glibc 2.36 on.
inline constexpr std::uint32_t section_type_relr = 19;
inline constexpr std::int64_t dynamic_tag_relr_size = 35;
inline constexpr std::int64_t dynamic_tag_relr = 36;

inline constexpr const char* sframe_section_name = ".sframe";
/// What covers the input's ELF header in memory where another stands in front of it.
inline constexpr const char* old_headers_name = ".orig_headers";

}  // namespace sframe_gen::elf
