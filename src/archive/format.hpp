#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The archive format of System V and GNU: no standard defines it; what is here is ar(5) of FreeBSD and what GNU ar,
/// llvm-ar and their linkers write and read.
///
///     "!<arch>\n" or "!<thin>\n"
///     for each member, at an even offset: a header, its bytes (thin archives: of special members only), "\n" if odd
namespace sframe_gen::archive {

inline constexpr std::string_view regular_magic = "!<arch>\n";
inline constexpr std::string_view thin_magic = "!<thin>\n";

/// Text in columns, filled up with spaces; numbers are decimal, the mode is octal.
struct MemberHeader {
  std::array<char, 16> name;
  std::array<char, 12> date;
  std::array<char, 6> owner, group;
  std::array<char, 8> mode;
  std::array<char, 10> size;  ///< of the bytes that follow; in thin archives of the file that the name leads to
  std::array<char, 2> end;
};
static_assert(sizeof(MemberHeader) == 60 && alignof(MemberHeader) == 1);

inline constexpr std::string_view header_end = "`\n";
inline constexpr std::uint64_t largest_member = 9'999'999'999;  ///< bytes that ten digits can say

/// Names of special members. An index is a big-endian count, an offset of a member's header for each symbol, and the
/// symbols' names, each ended by a NUL.
inline constexpr std::string_view index_name = "/";             ///< 32-bit numbers
inline constexpr std::string_view wide_index_name = "/SYM64/";  ///< 64-bit numbers
inline constexpr std::string_view long_names_name = "//";       ///< "NAME/\n" for each "/OFFSET" in a header
inline constexpr std::string_view bsd_name_prefix = "#1/";      ///< a number follows: the bytes before the member's own
inline constexpr std::string_view bsd_index_prefix = "__.SYMDEF";

}  // namespace sframe_gen::archive
