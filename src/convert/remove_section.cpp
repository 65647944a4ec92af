#include "convert/file_kind.hpp"
#include "elf/undo/original.hpp"
#include "elf/write/rewrite.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen {

namespace {

/// A file may have both sections; the one added last has to go first.
const elf::NewSection& last_added(const elf::Image& image) {
  const bool ctf_frame = !image.sections().empty() && image.sections().back().name == elf::ctf_frame_section.undo_name;
  return ctf_frame ? elf::ctf_frame_section : elf::sframe_section;
}

}  // namespace

Removed remove_section(const std::filesystem::path& input, const std::filesystem::path& output, bool dry_run) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    throw Refused(input.string(), "is an archive: --remove is for linked files only");
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) throw Refused(image.name(), "is a relocatable object, which keeps no way back; make it anew");
  const elf::NewSection& added = last_added(image);
  return {std::string(added.name), image.file_bytes().size(),
          dry_run ? elf::original_size(image, added) : elf::write_original(image, added, output)};
}

}  // namespace sframe_gen
