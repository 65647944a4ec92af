#include "archive/archive.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "archive/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::archive {

namespace {

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

Archive::Archive(std::span<const std::byte> bytes, std::string file)
    : bytes_(bytes), origin_{std::move(file), "archive"}, thin_(starts_with(bytes, thin_magic)) {
  if (!is_archive(bytes)) throw Refused(this->file(), "is not an archive");
  for (std::uint64_t offset = regular_magic.size(); offset < bytes_.size();) offset = read_member(offset);
  check_index();
}

std::span<const std::byte> Archive::data_of(const Member& member) const {
  return thin_ ? std::span<const std::byte>() : bytes_.subspan(member.data_offset, member.size);
}

std::string_view Archive::text(std::uint64_t offset, std::uint64_t size) const {
  return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
}

/// Returns where the next one stands.
std::uint64_t Archive::read_member(std::uint64_t offset) {
  const RawMember raw = read_member_header(bytes_, offset, origin_);
  const bool special = is_special(raw);
  // In thin archives only these are there themselves.
  const bool has_data = special || !thin_;
  if (has_data && raw.size > bytes_.size() - raw.data_offset()) {
    throw MalformedInput(origin_, raw.size_offset(),
                         "a member of " + hex(raw.size) + " bytes does not fit in the file, which has " +
                             hex(bytes_.size() - raw.data_offset()) + " more");
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
    members_.push_back(std::move(member));
  }
  return next;
}

bool Archive::is_special(const RawMember& raw) const {
  return raw.name == index_name || raw.name == wide_index_name || raw.name == long_names_name;
}

void Archive::read_special(const RawMember& raw) {
  if (raw.name == long_names_name) {
    if (long_names_) throw MalformedInput(origin_, raw.header_offset, "a second table of long names");
    long_names_ = text(raw.data_offset(), raw.size);
    return;
  }
  // Windows' libraries have a second one of another form.
  if (index_) throw Refused(file(), "has a second symbol index, which only libraries of Windows have");
  if (!members_.empty())
    throw MalformedInput(origin_, raw.header_offset, "the symbol index stands behind a member, where no linker looks");
  const auto kind = raw.name == wide_index_name ? Index::Kind::GnuWide : Index::Kind::Gnu;
  index_ = read_index(bytes_, raw.data_offset(), raw.size, kind, origin_);
}

Member Archive::read_ordinary(const RawMember& raw) {
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
  return member;
}

/// "/18": the name stands at byte 18 of the table. "/18:78": it names an archive, and the member is at byte 78 of that.
void Archive::read_long_name(const RawMember& raw, Member& member) const {
  const std::string_view number = raw.name.substr(1, raw.name.find(':') - 1);
  std::uint64_t offset = 0;
  if (!read_decimal(number, offset))
    throw Refused(file(), "has a member with the name \"" + std::string(raw.name) +
                              "\", which has a meaning of its own elsewhere");
  const std::string_view table = long_names_.value_or("");
  const std::size_t end = table.find('\n', std::min<std::uint64_t>(offset, table.size()));
  if (end == std::string_view::npos) {
    throw MalformedInput(
        origin_, raw.name_offset(),
        "the name at " + hex(offset) + " has no end inside the table of long names (size " + hex(table.size()) + ")");
  }
  member.name = table.substr(offset, end - offset);
  if (member.name.ends_with('/')) member.name.pop_back();
  member.is_nested = raw.name.find(':') != std::string_view::npos;
  if (member.is_nested && !thin_)
    throw MalformedInput(origin_, raw.name_offset(), "a member of another archive, but this is no thin archive");
}

void Archive::read_bsd_name(const RawMember& raw, Member& member) const {
  if (thin_) throw Refused(file(), "is a thin archive with BSD's long names, which no toolchain writes");
  if (!read_decimal(raw.name.substr(bsd_name_prefix.size()), member.name_size) || member.name_size > raw.size) {
    throw MalformedInput(origin_, raw.name_offset(),
                         "the size of a BSD name is no number up to the member's size, " + hex(raw.size));
  }
  const std::string_view padded = text(raw.data_offset(), member.name_size);
  member.name = padded.substr(0, padded.find('\0'));
  member.data_offset += member.name_size;
  member.size -= member.name_size;
}

void Archive::check_index() const {
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

}  // namespace sframe_gen::archive
