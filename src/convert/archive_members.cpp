#include "convert/archive_members.hpp"

#include <algorithm>

#include "convert/thin_archive.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::convert {

namespace {

bool has_stack_trace_section(const elf::Image& image) {
  return std::ranges::any_of(image.sections(), [](const elf::Section& section) {
    return section.name == elf::sframe_section.name || section.name == elf::ctf_frame_section.name;
  });
}

/// Nothing for text, bitcode, other machines.
std::optional<elf::Image> elf_image(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return elf::Image::of_bytes(bytes, name);
  } catch (const Refused&) {
    return {};
  }
}

}  // namespace

MemberBytes open_member(const archive::Archive& archive, const archive::Member& member) {
  if (!archive.is_thin()) return {{}, archive.data_of(member)};
  MemberBytes opened{open_thin_member(archive, member), {}};
  opened.bytes = opened.file->bytes();
  return opened;
}

void for_each_converted(const std::filesystem::path& file,
                        const std::function<void(const std::string&, const elf::Image&)>& visit,
                        const std::function<void(const std::string&, const Failure&)>& failed) {
  const MappedFile mapped(file);
  const archive::Archive archive(mapped.bytes(), file.string());
  std::size_t count = 0;
  for (const archive::Member& member : archive.members()) {
    if (member.is_nested) continue;
    const std::string name = archive.name_of(member);
    try {
      const MemberBytes opened = open_member(archive, member);
      const auto image = elf_image(opened.bytes, name);
      if (!image || !has_stack_trace_section(*image)) continue;
      ++count;
      visit(name, *image);
    } catch (const Failure& failure) {
      failed(name, failure);
    }
  }
  if (count == 0) throw Refused(file.string(), "has no member with a .sframe or .ctf_frame section");
}

}  // namespace sframe_gen::convert
