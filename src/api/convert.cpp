#include "sframe_gen/convert.hpp"

#include <string>
#include <string_view>

#include "convert/convert_archive.hpp"
#include "convert/convert_linked.hpp"
#include "convert/convert_object.hpp"
#include "convert/emit_section.hpp"
#include "convert/file_kind.hpp"
#include "convert/remove_section.hpp"
#include "elf/kernel_files.hpp"
#include "rewrite/plan/plan_texts.hpp"
#include "support/text.hpp"

namespace sframe_gen {

ConvertOutcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                            const ConvertOptions& options, const WorkObserver& observer) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    return convert::convert_archive(input, output, options, observer);
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) return convert::convert_object_file(image, output, options);
  if (elf::is_kernel(image)) return convert::convert_kernel(image, output, options, observer);
  return convert::convert_linked(image, output, options, observer);
}

RemoveOutcome remove_section(const std::filesystem::path& input, const std::filesystem::path& output,
                             const RemoveOptions& options) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    return convert::remove_from_archive(input, output, options);
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) return convert::remove_from_object(image, output, options);
  return convert::remove_from_linked(image, output, options);
}

EmitOutcome emit_section(const std::filesystem::path& input, EmitForm form, const ConvertOptions& options,
                         std::optional<std::uint64_t> address, const WorkObserver& observer) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    throw Refused(input.string(), "--emit does not support archives");
  const elf::Image image = elf::Image::open(input);
  return image.is_object() ? convert::emit_object(image, form, options, address)
                           : convert::emit_linked(image, form, options, address, observer);
}

TranslateOutcome translate(std::span<const std::byte> elf, const std::string& name, std::uint64_t address,
                           const ConvertOptions& options) {
  const elf::Image image = elf::Image::of_bytes(elf, name);
  if (image.is_object()) throw Refused(name, "relocatable object, whose functions have no addresses yet");
  return convert::translate_linked(image, address, options);
}

std::string_view name_of(SectionPlan plan) {
  return rewrite::text_of(plan).name;
}

std::string_view name_of(TablePlan plan) {
  return rewrite::text_of(plan).name;
}

std::string name_of(const TriedPlan& plan) {
  std::string name(name_of(plan.section_plan));
  if (plan.section_plan == SectionPlan::Reserved) return name;
  name.append("+").append(name_of(plan.table_plan));
  if (plan.section_plan == SectionPlan::Gap) name += " after " + hex(plan.gap_after);
  if (plan.drops_note) name += ", a PT_NOTE less";
  return name;
}

std::string outcome_of(const TriedPlan& plan) {
  if (!plan.possible) return rewrite::text_of_failure(plan.lacks_room_for_headers, plan.obstacle);
  std::string text(rewrite::text_of(plan.section_plan).outcome);
  if (plan.section_plan == SectionPlan::Reserved) return text;
  const auto add = [&](const std::string& part) { text += ", " + part; };
  for (const std::string& section : plan.moved) add(section + " moves");
  if (const auto headers = rewrite::text_of(plan.table_plan).outcome; !headers.empty()) add(std::string(headers));
  if (plan.moved_to_new_segment) add("the new segment holds these too");
  if (plan.build_id_left_first_page) add("the build-id leaves the first page");
  add("inserts " + std::to_string(plan.inserted) + " bytes" + (plan.mostly_unused ? ", most of them unused" : ""));
  return text;
}

}  // namespace sframe_gen
