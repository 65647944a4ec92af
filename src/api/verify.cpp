#include "sframe_gen/verify.hpp"

#include <optional>

#include "convert/convert_archive.hpp"
#include "convert/debug_file.hpp"
#include "elf/image.hpp"
#include "elf/preconditions.hpp"
#include "verify/verify.hpp"

namespace sframe_gen {

Verification verify_file(const std::filesystem::path& file, const std::optional<std::filesystem::path>& debug_file,
                         bool ignore_build_id, const WorkObserver& observer) {
  const elf::Image image = elf::Image::open(file);
  if (!image.is_object()) elf::check_no_overlap(image);
  std::optional<elf::Image> debug;
  if (debug_file) debug = convert::open_debug_file(image, *debug_file, ignore_build_id);
  return verify::verify(image, debug ? *debug : image, observer.progress);
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
