#include "cli/archive_members.hpp"

#include <algorithm>

#include "elf/new_section.hpp"

namespace sframe_gen::cli {

namespace {

bool has_stack_trace_section(const elf::Image& image) {
  return std::ranges::any_of(image.sections(), [](const elf::Section& section) {
    return section.name == elf::sframe_section.name || section.name == elf::ctf_frame_section.name;
  });
}

}  // namespace

std::filesystem::path path_of(const archive::Archive& archive, const archive::Member& member) {
  return std::filesystem::path(archive.file()).parent_path() / member.name;
}

MemberBytes open_member(const archive::Archive& archive, const archive::Member& member) {
  if (!archive.is_thin()) return {{}, archive.data_of(member)};
  if (member.is_nested) throw Refused(archive.name_of(member), "is a member of that archive: convert it there");
  try {
    MemberBytes opened{MappedFile(path_of(archive, member)), {}};
    opened.bytes = opened.file->bytes();
    return opened;
  } catch (const Failure& failure) {
    throw Failure(archive.name_of(member) + ": " + failure.what());
  }
}

std::size_t for_each_converted(const archive::Archive& archive, const std::function<void(const elf::Image&)>& visit,
                               const std::function<void(const Failure&)>& failed) {
  std::size_t count = 0;
  for (const archive::Member& member : archive.members()) {
    if (member.is_nested) continue;
    try {
      const MemberBytes opened = open_member(archive, member);
      const auto image = [&]() -> std::optional<elf::Image> {
        try {
          return elf::Image::of_bytes(opened.bytes, archive.name_of(member));
        } catch (const Refused&) {
          return {};  // text, bitcode, other machines
        }
      }();
      if (!image || !has_stack_trace_section(*image)) continue;
      ++count;
      visit(*image);
    } catch (const Failure& failure) {
      failed(failure);
    }
  }
  return count;
}

}  // namespace sframe_gen::cli
