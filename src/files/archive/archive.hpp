#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/error.hpp"

/// The archive format of System V and GNU: no standard defines it; what is here is ar(5) of FreeBSD and what GNU ar,
/// llvm-ar and their linkers write and read.
///
///     "!<arch>\n" or "!<thin>\n"
///     for each member, at an even offset: a header, its bytes (thin archives: of special members only), "\n" if odd
namespace sframe_gen::files::archive {

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
/// Linux opens no file by a longer path (PATH_MAX).
inline constexpr std::size_t longest_name = 4096;

/// Names of special members. An index is a big-endian count, an offset of a member's header for each symbol, and the
/// symbols' names, each ended by a NUL.
inline constexpr std::string_view index_name = "/";             ///< 32-bit numbers
inline constexpr std::string_view wide_index_name = "/SYM64/";  ///< 64-bit numbers
inline constexpr std::string_view long_names_name = "//";       ///< "NAME/\n" for each "/OFFSET" in a header
inline constexpr std::string_view bsd_name_prefix = "#1/";      ///< a number follows: the bytes before the member's own
inline constexpr std::string_view bsd_index_prefix = "__.SYMDEF";

/// The symbol index: a big-endian count, a member's header's offset for each symbol, and the symbols' names.
struct Index {
  enum class Kind : std::uint8_t {
    Gnu,      ///< "/": 32-bit numbers
    GnuWide,  ///< "/SYM64/": 64-bit numbers
    Bsd,      ///< "__.SYMDEF": another form, in the byte order of the members; not read
  };
  Kind kind = Kind::Gnu;
  std::uint64_t offsets_at = 0;               ///< in the archive, of the first number
  std::vector<std::uint64_t> header_offsets;  ///< in the archive, one a symbol

  std::uint64_t number_size() const { return kind == Kind::GnuWide ? 8 : 4; }
};

/// A file in an archive. Offsets are in the archive.
struct Member {
  std::string_view name;            ///< in the archive's bytes; need not be unique; thin archives: a path
  std::uint64_t header_offset = 0;  ///< always even
  std::uint64_t size_offset = 0;    ///< of the header's field for the size
  std::uint64_t data_offset = 0;    ///< of the member's own bytes
  std::uint64_t name_size = 0;      ///< of a BSD name: stands before the member's own bytes and counts as size
  std::uint64_t size = 0;           ///< of the member's own bytes; thin archives: of the file when it was put in
  std::uint64_t end = 0;            ///< after data and padding
  bool is_nested = false;           ///< thin archives: a member of the archive that `name` says, not a file
};

/// Whether the file says it is one: more is not checked.
bool is_archive(std::span<const std::byte> bytes);

/// An archive, regular or thin, of GNU's format or BSD's. Read means checked: headers, names and index lead to what is
/// there.
class Archive {
 public:
  /// `bytes` must outlive it; `file` is for messages. Throws MalformedInput, and Refused for members with a meaning of
  /// other systems (COFF), for a name longer than `longest_name`, and for names that are together longer than their
  /// NameBudget: reports copy each.
  Archive(std::span<const std::byte> bytes, std::string file);

  const std::string& file() const { return origin_.file; }
  std::span<const std::byte> bytes() const { return bytes_; }
  bool is_thin() const { return thin_; }
  /// In their order, without index and long names.
  const std::vector<Member>& members() const { return members_; }
  const std::optional<Index>& index() const { return index_; }

  /// The member's own bytes; empty in thin archives.
  std::span<const std::byte> data_of(const Member& member) const;
  /// "libfoo.a(bar.o)".
  std::string name_of(const Member& member) const { return file() + "(" + std::string(member.name) + ")"; }

 private:
  friend class ArchiveReader;

  std::span<const std::byte> bytes_;
  InputOrigin origin_;
  bool thin_ = false;
  std::vector<Member> members_;
  std::optional<Index> index_;
};

}  // namespace sframe_gen::files::archive
