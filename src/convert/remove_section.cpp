#include "convert/remove_section.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "convert/convert_archive.hpp"
#include "convert/file_kind.hpp"
#include "elf/kernel_files.hpp"
#include "elf/new_section.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/object/section_removal.hpp"
#include "elf/records.hpp"
#include "files/archive/rebuild.hpp"
#include "files/atomic_file.hpp"
#include "files/regions.hpp"
#include "rewrite/plan/removal.hpp"
#include "rewrite/undo/undo.hpp"
#include "rewrite/write/rewrite.hpp"

namespace sframe_gen::convert {

namespace {

/// A file may have both sections; the one added last has to go first.
const elf::NewSection& last_added(const elf::Image& image) {
  const auto has = [&](std::string_view name) { return image.find_section(name) != nullptr; };
  const bool is_last = !image.sections().empty() && image.sections().back().name == elf::ctf_frame_section.undo_name;
  const bool is_alone = has(elf::ctf_frame_section.name) && !has(elf::sframe_section.name);
  return is_last || is_alone ? elf::ctf_frame_section : elf::sframe_section;
}

RemoveOutcome::Left left_of(const rewrite::Original& original) {
  return !original.has_section    ? RemoveOutcome::Left::Original
         : original.was_converted ? RemoveOutcome::Left::EarlierConversion
                                  : RemoveOutcome::Left::OriginalWithSection;
}

std::uint64_t take_out(const elf::Image& image, const elf::Image& opened, const elf::NewSection& section,
                       const std::filesystem::path& output, bool dry_run) {
  if (elf::is_kernel(image))
    throw Refused(image.name(),
                  "Linux kernel, whose linker script reserves " + std::string(section.name) + "; link it without");
  return dry_run ? rewrite::plan_removal(image, section).file_size
                 : rewrite::write_without_section(image, opened, section, output);
}

constexpr const char* object_section = elf::sframe_section_name;

/// Objects have no undo record, which a linker would copy.
files::Regions without_section(const elf::Image& object) {
  elf::object::check_preconditions(object, false);
  return elf::object::without_section(object, object_section);
}

RemoveOutcome outcome_of(std::uint64_t size, std::uint64_t new_size) {
  return {object_section, size, new_size, RemoveOutcome::Left::WithoutSection};
}

bool has_converted_member(const std::filesystem::path& archive) {
  bool found = false;
  for_each_converted(
      archive, [&](const std::string&, const elf::Image&) { found = true; }, [](const std::string&, const Failure&) {});
  return found;
}

bool has_original(const elf::Image& image, const elf::NewSection& added) try {
  rewrite::describe_original(image, added);
  return true;
} catch (const Failure&) {
  return false;
}

}  // namespace

RemoveOutcome remove_from_object(const elf::Image& object, const std::filesystem::path& output,
                                 const RemoveOptions& options) {
  const files::Regions form = without_section(object);
  if (!options.dry_run) {
    files::AtomicFile file(output, object.file());
    files::write_regions(form, object.file(), file.descriptor(), output.string());
    elf::object::check_without_section(object, elf::Image::open(file.descriptor(), object.name()), object_section);
    file.commit();
  }
  return outcome_of(object.file_bytes().size(), form.size());
}

RemoveOutcome remove_from_archive(const std::filesystem::path& input, const std::filesystem::path& output,
                                  const RemoveOptions& options) {
  const MappedFile file(input);
  const files::archive::Archive archive(file.bytes(), input.string());
  if (archive.is_thin()) throw Refused(input.string(), "--remove does not support thin archives; name their objects");
  std::map<std::size_t, std::vector<std::byte>> contents;
  for (std::size_t place = 0; place < archive.members().size(); ++place) {
    const files::archive::Member& member = archive.members()[place];
    const auto object = elf_image(archive.data_of(member), archive.name_of(member));
    if (!object || !object->is_object() || object->find_section(object_section) == nullptr) continue;
    const files::Regions form = without_section(*object);
    std::vector<std::byte>& bytes = contents[place] = form.bytes(0, form.size(), object->file_bytes());
    elf::object::check_without_section(*object, elf::Image::of_bytes(bytes, object->name()), object_section);
  }
  if (contents.empty()) throw Refused(input.string(), "no member with a .sframe section to remove");
  const files::archive::Rebuilt rebuilt = files::archive::rebuild(archive, {contents.begin(), contents.end()});
  if (!options.dry_run) files::replace_file(output, rebuilt.pieces(), file);
  return outcome_of(file.bytes().size(), rebuilt.size());
}

bool has_section_for_good(const std::filesystem::path& file) try {
  if (kind_of(file) == FileKind::Archive) return has_converted_member(file);
  const elf::Image image = elf::Image::open(file);
  return has_stack_trace_section(image) && (image.is_object() || !has_original(image, last_added(image)));
} catch (const Failure&) {
  return false;
}

RemoveOutcome remove_from_linked(const elf::Image& image, const std::filesystem::path& output,
                                 const RemoveOptions& options) {
  const elf::NewSection& added = last_added(image);
  RemoveOutcome removed{std::string(added.name), image.file_bytes().size()};
  if (options.section_only) {
    const auto original = rewrite::find_original(image, added, output.parent_path());
    if (!original || original->find_section(added.name) != nullptr) {
      removed.original_size = take_out(original ? *original : image, image, added, output, options.dry_run);
      removed.left = RemoveOutcome::Left::WithoutSection;
      return removed;
    }
  }
  const rewrite::Original original =
      options.dry_run ? rewrite::describe_original(image, added) : rewrite::write_original(image, added, output);
  removed.original_size = original.size;
  removed.left = left_of(original);
  return removed;
}

}  // namespace sframe_gen::convert
