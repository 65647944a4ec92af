#include "files/archive/archive.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::files::archive {

namespace {

std::string_view without_trailing_spaces(std::string_view field) {
  const std::size_t last = field.find_last_not_of(' ');
  return field.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// What a header says as it stands.
struct RawMember {
  std::string_view name;  ///< without the spaces after it; lives in the archive's bytes
  std::uint64_t header_offset;
  std::uint64_t size;  ///< as the header says: it may not be there

  std::uint64_t name_offset() const { return header_offset + offsetof(MemberHeader, name); }
  std::uint64_t size_offset() const { return header_offset + offsetof(MemberHeader, size); }
  std::uint64_t data_offset() const { return header_offset + sizeof(MemberHeader); }
};

/// A number in decimal: nothing for an empty text, other characters, and what does not fit in 64 bits.
bool read_decimal(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// The header at `offset`. Throws MalformedInput.
RawMember read_member_header(std::span<const std::byte> archive, std::uint64_t offset, const InputOrigin& origin) {
  const std::uint64_t left = archive.size() - offset;
  if (left < sizeof(MemberHeader)) {
    throw MalformedInput(
        origin, offset,
        "a member's header needs 60 bytes, but the file ends after " + std::to_string(left) + " of them");
  }
  const auto* const header = reinterpret_cast<const char*>(archive.data()) + offset;
  const auto field = [&](std::size_t begin, std::size_t size) { return std::string_view(header + begin, size); };
  if (field(offsetof(MemberHeader, end), header_end.size()) != header_end)
    throw MalformedInput(origin, offset + offsetof(MemberHeader, end), "a member's header has no end mark");
  RawMember raw{without_trailing_spaces(field(offsetof(MemberHeader, name), sizeof(MemberHeader::name))), offset, 0};
  const auto size = without_trailing_spaces(field(offsetof(MemberHeader, size), sizeof(MemberHeader::size)));
  if (!read_decimal(size, raw.size))
    throw MalformedInput(origin, raw.size_offset(), "a member's size is not a decimal number");
  return raw;
}

/// The index of `size` bytes at `offset` of the archive. Throws MalformedInput. The offsets are not looked at.
Index read_index(std::span<const std::byte> archive, std::uint64_t offset, std::uint64_t size, Index::Kind kind,
                 const InputOrigin& origin) {
  ByteReader reader(archive.subspan(offset, size), Endian::Big, origin, offset);
  const bool wide = kind == Index::Kind::GnuWide;
  const std::uint64_t count =
      wide ? reader.u64("number of symbols in the index") : reader.u32("number of symbols in the index");
  Index index{kind, reader.offset(), {}};
  if (count > reader.left() / index.number_size())
    throw MalformedInput(origin, offset,
                         "the index says it has " + count_of(count, "symbol") + ", but is too short for them");
  index.header_offsets.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    index.header_offsets.push_back(wide ? reader.u64("offset in the index") : reader.u32("offset in the index"));
  const std::uint64_t names_offset = reader.offset();
  const auto names = reader.take(reader.left(), "names in the index");
  const auto found = static_cast<std::uint64_t>(std::count(names.begin(), names.end(), std::byte{0}));
  if (found < count)
    throw MalformedInput(origin, names_offset,
                         "the index has " + count_of(count, "symbol") + ", but only " + count_of(found, "name"));
  return index;
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::uint64_t rounded_up_to_even(std::uint64_t offset) {
  return offset + (offset & 1U);
}

}  // namespace

bool is_archive(std::span<const std::byte> bytes) {
  return starts_with(bytes, regular_magic) || starts_with(bytes, thin_magic);
}

/// Reads and checks all members.
class ArchiveReader {
 public:
  explicit ArchiveReader(Archive& archive)
      : bytes_(archive.bytes_),
        origin_(archive.origin_),
        thin_(archive.thin_),
        members_(archive.members_),
        index_(archive.index_),
        names_(archive.bytes_.size()) {}

  void run() {
    for (std::uint64_t offset = regular_magic.size(); offset < bytes_.size();) offset = read_member(offset);
    check_index();
  }

 private:
  std::string_view text(std::uint64_t offset, std::uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }

  /// Returns where the next one stands.
  std::uint64_t read_member(std::uint64_t offset) {
    const RawMember raw = read_member_header(bytes_, offset, origin_);
    const bool special = is_special(raw);
    // In thin archives only these are there themselves.
    const bool has_data = special || !thin_;
    if (has_data && raw.size > bytes_.size() - raw.data_offset()) {
      throw MalformedInput(origin_, raw.size_offset(),
                           "a member of " + count_of(raw.size, "byte") + " does not fit in the file, which has " +
                               std::to_string(bytes_.size() - raw.data_offset()) + " more");
    }
    const std::uint64_t end = raw.data_offset() + (has_data ? raw.size : 0);
    // Some tools leave the padding of the last member out.
    const std::uint64_t next = std::min<std::uint64_t>(rounded_up_to_even(end), bytes_.size());
    if (special) {
      read_special(raw);
      return next;
    }
    Member member = read_ordinary(raw);
    member.end = next;
    if (members_.empty() && !index_ && member.name.starts_with(bsd_index_prefix)) {
      index_ = Index{Index::Kind::Bsd, 0, {}};
    } else {
      members_.push_back(member);
    }
    return next;
  }

  bool is_special(const RawMember& raw) const {
    return raw.name == index_name || raw.name == wide_index_name || raw.name == long_names_name;
  }

  void read_special(const RawMember& raw) {
    if (raw.name == long_names_name) {
      if (long_names_) throw MalformedInput(origin_, raw.header_offset, "a second table of long names");
      long_names_ = text(raw.data_offset(), raw.size);
      return;
    }
    // Windows' libraries have a second one of another form.
    if (index_) throw Refused(origin_.file, "second symbol index, which only libraries of Windows have");
    if (!members_.empty())
      throw MalformedInput(origin_, raw.header_offset, "the symbol index comes after a member, where no linker looks");
    const auto kind = raw.name == wide_index_name ? Index::Kind::GnuWide : Index::Kind::Gnu;
    index_ = read_index(bytes_, raw.data_offset(), raw.size, kind, origin_);
  }

  Member read_ordinary(const RawMember& raw) {
    Member member;
    member.header_offset = raw.header_offset;
    member.size_offset = raw.size_offset();
    member.data_offset = raw.data_offset();
    member.size = raw.size;
    if (raw.name.starts_with(bsd_name_prefix)) {
      read_bsd_name(raw, member);
    } else if (raw.name.starts_with('/')) {
      read_long_name(raw, member);
    } else {
      member.name = raw.name.substr(0, raw.name.find('/'));
    }
    if (member.name.size() > longest_name)
      throw MalformedInput(origin_, raw.name_offset(), "a member's name is longer than any file's");
    if (!names_.take(member.name.size()))
      throw Refused(origin_.file, "member names more than four times as large as the file");
    return member;
  }

  /// "/18": the name stands at byte 18 of the table. "/18:78": it names an archive, and the member is at byte 78 of
  /// that.
  void read_long_name(const RawMember& raw, Member& member) const {
    const std::string_view number = raw.name.substr(1, raw.name.find(':') - 1);
    std::uint64_t offset = 0;
    if (!read_decimal(number, offset))
      throw Refused(origin_.file,
                    "member name \"" + std::string(raw.name) + "\", which has a meaning of its own elsewhere");
    const std::string_view table = long_names_.value_or("");
    const std::string_view rest = table.substr(std::min<std::uint64_t>(offset, table.size()));
    // Any number of members may name one place of the table.
    const std::string_view looked_at = rest.substr(0, longest_name + 2);
    const std::size_t size = looked_at.find('\n');
    if (size == std::string_view::npos && looked_at.size() == rest.size()) {
      throw MalformedInput(origin_, raw.name_offset(),
                           "the name at " + hex(offset) + " has no end inside the table of long names (size " +
                               std::to_string(table.size()) + ")");
    }
    member.name = looked_at.substr(0, size);
    if (member.name.ends_with('/')) member.name.remove_suffix(1);
    member.is_nested = raw.name.find(':') != std::string_view::npos;
    if (member.is_nested && !thin_)
      throw MalformedInput(origin_, raw.name_offset(), "a member of another archive, but this is not a thin archive");
  }

  void read_bsd_name(const RawMember& raw, Member& member) const {
    if (thin_) throw Refused(origin_.file, "thin archive with BSD's long names, which no toolchain writes");
    if (!read_decimal(raw.name.substr(bsd_name_prefix.size()), member.name_size) || member.name_size > raw.size) {
      throw MalformedInput(origin_, raw.name_offset(),
                           "the size of a BSD name is not a number up to the member's size, " + hex(raw.size));
    }
    const std::string_view padded = text(raw.data_offset(), member.name_size);
    member.name = padded.substr(0, longest_name + 1);
    member.name = member.name.substr(0, member.name.find('\0'));
    member.data_offset += member.name_size;
    member.size -= member.name_size;
  }

  void check_index() const {
    if (!index_) return;
    std::uint64_t symbol = 0;
    for (const std::uint64_t offset : index_->header_offsets) {
      const auto member = std::lower_bound(members_.begin(), members_.end(), offset,
                                           [](const Member& m, std::uint64_t o) { return m.header_offset < o; });
      if (member == members_.end() || member->header_offset != offset) {
        throw MalformedInput(origin_, index_->offsets_at + symbol * index_->number_size(),
                             "the index leads to " + hex(offset) + ", where no member begins");
      }
      ++symbol;
    }
  }

  std::span<const std::byte> bytes_;
  const InputOrigin& origin_;
  bool thin_;
  std::vector<Member>& members_;
  std::optional<Index>& index_;
  std::optional<std::string_view> long_names_;
  NameBudget names_;
};

Archive::Archive(std::span<const std::byte> bytes, std::string file)
    : bytes_(bytes), origin_{std::move(file), "archive"}, thin_(starts_with(bytes, thin_magic)) {
  if (!is_archive(bytes)) throw Refused(this->file(), "not an archive");
  ArchiveReader(*this).run();
}

std::span<const std::byte> Archive::data_of(const Member& member) const {
  return thin_ ? std::span<const std::byte>() : bytes_.subspan(member.data_offset, member.size);
}

}  // namespace sframe_gen::files::archive
