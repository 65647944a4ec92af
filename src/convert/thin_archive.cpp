#include "convert/thin_archive.hpp"

#include <filesystem>

#include "files/replace_file.hpp"
#include "support/equal_bytes.hpp"

namespace sframe_gen::convert {

namespace {

std::filesystem::path path_of(const archive::Archive& archive, const archive::Member& member) {
  return std::filesystem::path(archive.file()).parent_path() / member.name;
}

}  // namespace

MappedFile open_thin_member(const archive::Archive& archive, const archive::Member& member) {
  if (member.is_nested) throw Refused(archive.name_of(member), "is a member of that archive: convert it there");
  try {
    return MappedFile(path_of(archive, member));
  } catch (const Failure& failure) {
    throw Failure(archive.name_of(member) + ": " + failure.what());
  }
}

void replace_thin_member(const archive::Archive& archive, const archive::Member& member, const FileIdentity& read_as,
                         std::span<const std::byte> bytes) {
  const MappedFile file(path_of(archive, member));
  if (equal_bytes(file.bytes(), bytes)) return;
  if (file.identity() != read_as) throw Refused(file.name(), "was changed while it was read");
  files::replace_file(file.name(), bytes, file);
}

}  // namespace sframe_gen::convert
