#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "elf/records.hpp"

namespace sframe_gen::elf {

/// What is added to a file: a loaded, read-only section and, for some, a program header that says where it is.
struct NewSection {
  std::string_view name;
  std::uint32_t type;       ///< sh_type
  std::uint64_t alignment;  ///< bytes, of its address
  std::optional<std::uint32_t> segment_type;
  std::string_view undo_name;     ///< of the section that holds the undo record (undo_record.hpp)
  bool keeps_undo_record = true;  ///< whether there is to be one
};

/// SFrame V3, section 2.
inline constexpr NewSection sframe_section{sframe_section_name, section_type_gnu_sframe, 8, segment_type_gnu_sframe,
                                           ".sframe_undo"};
/// The format that came before SFrame was never given types of its own.
inline constexpr NewSection ctf_frame_section{".ctf_frame", SHT_PROGBITS, 8, std::nullopt, ".ctf_frame_undo"};

}  // namespace sframe_gen::elf
