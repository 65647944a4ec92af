#include "cli/remove.hpp"

#include "elf/undo/original.hpp"
#include "elf/write/rewrite.hpp"

namespace sframe_gen::cli {

namespace {

/// A file may have got one after the other; the last has to go first.
const elf::NewSection& last_added(const elf::Image& image) {
  const bool ctf_frame = !image.sections().empty() && image.sections().back().name == elf::ctf_frame_section.undo_name;
  return ctf_frame ? elf::ctf_frame_section : elf::sframe_section;
}

}  // namespace

Removal remove_section(const Options& options, const std::filesystem::path& file) {
  const elf::Image image = elf::Image::open(file);
  if (image.is_object()) throw Refused(image.name(), "is a relocatable object, which keeps no way back; make it anew");
  Removal removal;
  removal.file = file.string();
  removal.output = options.output.value_or(file).string();
  removal.converted_size = image.file_bytes().size();
  const elf::NewSection& added = last_added(image);
  removal.section = added.name;
  removal.original_size =
      options.dry_run ? elf::original_size(image, added) : elf::write_original(image, added, removal.output);
  return removal;
}

}  // namespace sframe_gen::cli
