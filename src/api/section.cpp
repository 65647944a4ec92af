#include "sframe_gen/section.hpp"

#include "convert/convert_archive.hpp"
#include "elf/image.hpp"
#include "elf/object/sframe_sections.hpp"

namespace sframe_gen {

std::vector<FileSection> read_sections(const std::filesystem::path& file) {
  return elf::object::read_with_remarks(elf::Image::open(file));
}

void read_archive_sections(const std::filesystem::path& archive,
                           const std::function<void(const std::string&, const std::vector<FileSection>&)>& visit,
                           const std::function<void(const Failure&)>& failed) {
  convert::for_each_converted(
      archive,
      [&](const std::string& name, const elf::Image& member) { visit(name, elf::object::read_with_remarks(member)); },
      [&](const std::string&, const Failure& failure) { failed(failure); });
}

}  // namespace sframe_gen
