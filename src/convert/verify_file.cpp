#include <optional>

#include "convert/archive_members.hpp"
#include "convert/debug_file.hpp"
#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "verify/file_section.hpp"
#include "verify/verify.hpp"

namespace sframe_gen {

Verification verify_file(const std::filesystem::path& file, const std::optional<std::filesystem::path>& debug_file,
                         bool ignore_build_id, const Observer& observer) {
  const elf::Image image = elf::Image::open(file);
  std::optional<elf::Image> debug;
  if (debug_file) debug = convert::open_debug_file(image, *debug_file, ignore_build_id);
  return verify::verify(image, debug ? *debug : image, observer.progress);
}

std::vector<MemberVerification> verify_archive(const std::filesystem::path& archive, const Observer& observer) {
  std::vector<MemberVerification> members;
  convert::for_each_converted(
      archive,
      [&](const std::string& name, const elf::Image& member) {
        members.push_back({name, verify::verify(member, member, observer.progress), {}});
      },
      [&](const std::string& name, const Failure& failure) {
        members.push_back({name, {}, failure.what()});
      });
  return members;
}

Verification sum_of(const std::vector<MemberVerification>& members) {
  Verification sum;
  for (const MemberVerification& member : members) sum += member.result;
  return sum;
}

std::vector<FileSection> read_sections(const std::filesystem::path& file) {
  return verify::look_at_file_sections(elf::Image::open(file));
}

void read_archive_sections(const std::filesystem::path& archive,
                           const std::function<void(const std::string&, const std::vector<FileSection>&)>& visit,
                           const std::function<void(const Failure&)>& failed) {
  convert::for_each_converted(
      archive,
      [&](const std::string& name, const elf::Image& member) { visit(name, verify::look_at_file_sections(member)); },
      [&](const std::string&, const Failure& failure) { failed(failure); });
}

}  // namespace sframe_gen
