#include "verify/file_section.hpp"

#include "object/relocated_section.hpp"
#include "sframe/decoder.hpp"
#include "support/text.hpp"

namespace sframe_gen::verify {

namespace {

/// Of an object as it would be if it was linked. Where its starts are not relative to themselves, ld makes them so that
/// they are relative to the section.
sframe::Section decode_object(const elf::Image& object, const elf::Section& section, const Origin& origin) {
  const auto bytes = object.bytes_of(section);
  const bool flagged =
      bytes.size() > sframe::header::flags_at &&
      (std::to_integer<unsigned>(bytes[sframe::header::flags_at]) & sframe::flag::function_start_pc_relative) != 0;
  const auto relocated = object::relocate(object, section, flagged ? object::PcBase::Field : object::PcBase::Section);
  return sframe::decode(relocated.bytes, section.header.sh_addr, origin);
}

sframe::Section decode_section(const elf::Image& image, const elf::Section& section, const Origin& origin,
                               sframe::Family family) {
  if (image.is_object()) return decode_object(image, section, origin);
  return sframe::decode(image.bytes_of(section), section.header.sh_addr, origin, {}, family);
}

}  // namespace

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
  FileSection result{section->name, decode_section(image, *section, origin, family)};
  const sframe::AbiTraits* const expected = sframe::find_abi(image.header().e_machine, image.endian());
  if (expected == nullptr || expected->abi != result.section.abi) {
    throw MalformedInput(origin, sframe::header::abi_at,
                         "ABI is " + std::string(sframe::name_of(result.section.abi)) + ", but the file is for " +
                             (expected == nullptr ? "another machine" : std::string(sframe::name_of(expected->abi))));
  }
  return result;
}

}  // namespace sframe_gen::verify
