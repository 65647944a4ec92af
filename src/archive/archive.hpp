#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/index.hpp"
#include "archive/member_header.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::archive {

/// A file in an archive. Offsets are in the archive.
struct Member {
  std::string name;                 ///< need not be unique; thin archives: a path
  std::uint64_t header_offset = 0;  ///< always even
  std::uint64_t size_offset = 0;    ///< of the header's field for the size
  std::uint64_t data_offset = 0;    ///< of the member's own bytes
  std::uint64_t name_size = 0;      ///< of a BSD name: stands before the member's own bytes and counts as size
  std::uint64_t size = 0;           ///< of the member's own bytes; thin archives: of the file when it was put in
  std::uint64_t end = 0;            ///< behind data and padding
  bool is_nested = false;           ///< thin archives: a member of the archive that `name` says, not a file
};

/// Whether the file says it is one: more is not checked.
bool is_archive(std::span<const std::byte> bytes);

/// An archive, regular or thin, of GNU's format or BSD's. Read means checked: headers, names and index lead to what is
/// there.
class Archive {
 public:
  /// `bytes` must outlive it; `file` is for messages. Throws MalformedInput, and Refused for members with a meaning of
  /// other systems (COFF).
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
  std::string name_of(const Member& member) const { return file() + "(" + member.name + ")"; }

 private:
  std::uint64_t read_member(std::uint64_t offset);
  bool is_special(const RawMember& raw) const;
  void read_special(const RawMember& raw);
  Member read_ordinary(const RawMember& raw);
  void read_long_name(const RawMember& raw, Member& member) const;
  void read_bsd_name(const RawMember& raw, Member& member) const;
  void check_index() const;
  std::string_view text(std::uint64_t offset, std::uint64_t size) const;

  std::span<const std::byte> bytes_;
  Origin origin_;
  bool thin_ = false;
  std::vector<Member> members_;
  std::optional<Index> index_;
  std::optional<std::string_view> long_names_;
};

}  // namespace sframe_gen::archive
