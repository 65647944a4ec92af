#include "archive/member_header.hpp"

#include <charconv>
#include <cstddef>
#include <string_view>

#include "archive/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::archive {

namespace {

std::string_view without_spaces_behind(std::string_view field) {
  const std::size_t last = field.find_last_not_of(' ');
  return field.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::uint64_t RawMember::name_offset() const {
  return header_offset + offsetof(MemberHeader, name);
}

std::uint64_t RawMember::size_offset() const {
  return header_offset + offsetof(MemberHeader, size);
}

std::uint64_t RawMember::data_offset() const {
  return header_offset + sizeof(MemberHeader);
}

bool read_decimal(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

RawMember read_member_header(std::span<const std::byte> archive, std::uint64_t offset, const Origin& origin) {
  const std::uint64_t left = archive.size() - offset;
  if (left < sizeof(MemberHeader)) {
    throw MalformedInput(origin, offset,
                         "a member's header needs 0x3c bytes, but the file ends after " + hex(left) + " of them");
  }
  const auto* const header = reinterpret_cast<const char*>(archive.data()) + offset;
  const auto field = [&](std::size_t begin, std::size_t size) { return std::string_view(header + begin, size); };
  if (field(offsetof(MemberHeader, end), header_end.size()) != header_end)
    throw MalformedInput(origin, offset + offsetof(MemberHeader, end), "a member's header has no end mark");
  RawMember raw{without_spaces_behind(field(offsetof(MemberHeader, name), sizeof(MemberHeader::name))), offset, 0};
  const auto size = without_spaces_behind(field(offsetof(MemberHeader, size), sizeof(MemberHeader::size)));
  if (!read_decimal(size, raw.size))
    throw MalformedInput(origin, raw.size_offset(), "a member's size is no decimal number");
  return raw;
}

}  // namespace sframe_gen::archive
