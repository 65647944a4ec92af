#include "sframe_gen/verify.hpp"

#include <optional>

#include "convert/convert_archive.hpp"
#include "convert/debug_file.hpp"
#include "convert/emit_section.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/code_check.hpp"
#include "sframe_gen/section.hpp"
#include "verify/verify.hpp"

namespace sframe_gen {

namespace {

/// The rows that --synthesize gives, as a section in memory says them: what a file does not say is which of its rows
/// were made so.
verify::ProvedRows prove(const elf::Image& image, const std::optional<std::filesystem::path>& debug_file,
                         bool ignore_build_id) {
  if (image.is_object() || elf::machine_of(image).abi != sframe::Abi::Amd64) return {};
  if (const std::string why = why_no_code_check(); !why.empty())
    return {{}, "no FDE describes this PC, and to follow its instructions " + why};
  ConvertOptions options;
  options.synthesize = true;
  options.debug_file = debug_file;
  options.ignore_build_id = ignore_build_id;
  options.format.flexible = FlexibleDescriptors::Always;
  try {
    const TranslateOutcome made = convert::translate_linked(image, 0, options);
    return {sframe::pc_rows(sframe::decode(made.bytes, 0, {image.name(), "a section of proved rows"})), {}};
  } catch (const Refused&) {
    return {};  // no function has rows
  }
}

}  // namespace

Verification verify_file(const std::filesystem::path& file, const std::optional<std::filesystem::path>& debug_file,
                         bool ignore_build_id, const WorkObserver& observer) {
  const elf::Image image = elf::Image::open(file);
  if (!image.is_object()) elf::check_no_overlap(image);
  std::optional<elf::Image> debug;
  if (debug_file) debug = convert::open_debug_file(image, *debug_file, ignore_build_id);
  return verify::verify(image, debug ? *debug : image, observer.progress,
                        [&] { return prove(image, debug_file, ignore_build_id); });
}

std::vector<MemberVerification> verify_archive(const std::filesystem::path& archive, const WorkObserver& observer) {
  std::vector<MemberVerification> members;
  convert::for_each_converted(
      archive,
      [&](const std::string& name, const elf::Image& member) {
        members.push_back({name, verify::verify(member, member, {}), {}});
      },
      [&](const std::string& name, const Failure& failure) {
        members.push_back({name, {}, failure.what()});
      },
      observer.progress);
  return members;
}

Verification sum_of(const std::vector<MemberVerification>& members) {
  Verification sum;
  for (const MemberVerification& member : members) sum += member.result;
  return sum;
}

}  // namespace sframe_gen
