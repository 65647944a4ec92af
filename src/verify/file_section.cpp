#include "verify/file_section.hpp"

#include "sframe/decoder.hpp"
#include "support/text.hpp"

namespace sframe_gen::verify {

FileSection read_file_section(const elf::Image& image) {
  const auto name_in = [](sframe::Version version) { return std::string(sframe::traits_of(version).section_name); };
  sframe::Family family = sframe::Family::SFrame;
  const elf::Section* section = image.find_section(name_in(sframe::Version::V3));
  if (section == nullptr) {
    family = sframe::Family::CtfFrame;
    section = image.find_section(name_in(sframe::Version::CtfFrame));
  }
  if (section == nullptr) throw Refused(image.name(), "has no .sframe section");
  const Origin origin{image.name(), section->name};
  FileSection result{section->name,
                     sframe::decode(image.bytes_of(*section), section->header.sh_addr, origin, {}, family)};
  const sframe::AbiTraits* const expected = sframe::find_abi(image.header().e_machine, image.endian());
  if (expected == nullptr || expected->abi != result.section.abi) {
    throw MalformedInput(origin, sframe::header::abi_at,
                         "ABI is " + std::string(sframe::name_of(result.section.abi)) + ", but the file is for " +
                             (expected == nullptr ? "another machine" : std::string(sframe::name_of(expected->abi))));
  }
  return result;
}

}  // namespace sframe_gen::verify
