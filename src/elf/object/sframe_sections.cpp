#include "elf/object/sframe_sections.hpp"

#include <algorithm>
#include <utility>

#include "elf/machine.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/object/relocations.hpp"
#include "sframe/format.hpp"
#include "sframe/parser.hpp"
#include "sframe_gen/section.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

namespace {

sframe::RemarkedSection decode_bytes(std::span<const std::byte> bytes, std::uint64_t address, const InputOrigin& origin,
                                     sframe::Family family, bool with_remarks) {
  if (with_remarks) return sframe::decode_with_remarks(bytes, address, origin, {}, family);
  return {sframe::decode(bytes, address, origin, {}, family), {}};
}

/// Relocations change the starts of functions and nothing else. GNU ld -r of binutils 2.44 and 2.40 leaves those of a
/// second object where they would be if sections were put one after the other, which may be in rows.
void check_relocations(const elf::Image& object, const elf::Section& section, std::span<const std::byte> bytes,
                       const InputOrigin& origin) {
  sframe::Header header;
  const auto stop = [](const sframe::Fault&) { return false; };
  // decode() reports what is wrong with the header.
  if (!read_header(bytes, section.header.sh_addr, sframe::Family::SFrame, stop, header)) return;
  const std::uint16_t machine = elf::machine_of(object).number;
  const RelocationTables tables(object);
  for (const std::uint32_t index : tables.for_section(section.index)) {
    for_each_relocation(object, object.sections()[index], section.name, [&](const Relocation& relocation) {
      const auto type = find_relocation_type(machine, relocation.type);
      const std::uint64_t at = relocation.field_offset;
      const bool is_start = at >= header.index_begin && at < header.index_end &&
                            (at - header.index_begin) % header.version->descriptor_size == 0;
      if (type && type->form != RelocationForm::Nothing && !is_start)
        throw MalformedInput(origin, at, "a relocation is for this place, which is not a function's start");
    });
  }
}

/// Decodes an object's section as it would be after linking. Function starts that are not relative to their own field
/// become relative to the section, as ld makes them.
sframe::RemarkedSection decode_object(const elf::Image& object, const elf::Section& section, const InputOrigin& origin,
                                      bool with_remarks) {
  const auto bytes = object.bytes_of(section);
  const bool flagged =
      bytes.size() > sframe::header::flags_at &&
      (std::to_integer<unsigned>(bytes[sframe::header::flags_at]) & sframe::flag::function_start_pc_relative) != 0;
  const auto relocated = relocate(object, section, flagged ? PcBase::Field : PcBase::Section);
  const auto unknown = std::ranges::find(relocated.fields, 0U, &FieldRelocation::size);
  if (unknown != relocated.fields.end()) {
    throw Refused(object.name(), "relocation of type " + hex(unknown->type) + " for " + section.name + "+" +
                                     hex(unknown->field_offset) + ", whose meaning for it is not known");
  }
  check_relocations(object, section, relocated.bytes, origin);
  return decode_bytes(relocated.bytes, section.header.sh_addr, origin, sframe::Family::SFrame, with_remarks);
}

sframe::RemarkedSection decode_section(const elf::Image& image, const elf::Section& section, const InputOrigin& origin,
                                       sframe::Family family, bool with_remarks) {
  if (image.is_object()) return decode_object(image, section, origin, with_remarks);
  return decode_bytes(image.bytes_of(section), section.header.sh_addr, origin, family, with_remarks);
}

void check_machine(const elf::Image& image, sframe::Abi abi, const InputOrigin& origin) {
  const elf::Machine* const expected = elf::find_machine(image);
  if (expected != nullptr && expected->abi == abi) return;
  throw MalformedInput(
      origin, sframe::header::abi_at,
      "ABI is " + std::string(sframe::name_of(abi)) + ", but the file is for " +
          (expected == nullptr ? "another architecture" : std::string(sframe::name_of(expected->abi))));
}

std::vector<FileSection> read_sections_of(const elf::Image& image, bool with_remarks) {
  if (image.is_object()) check_contents_apart(image);
  std::vector<FileSection> found;
  for (const auto& [version, family] : {std::pair(sframe::Version::V3, sframe::Family::SFrame),
                                        std::pair(sframe::Version::CtfFrame, sframe::Family::CtfFrame)}) {
    const std::string name(sframe::traits_of(version).section_name);
    const elf::Section* const section = image.find_section(name);
    if (section == nullptr) continue;
    if (section->header.sh_type == SHT_NOBITS)
      throw Refused(image.name(), "separate debug file: section " + name + " has no bytes");
    const InputOrigin origin{image.name(), name};
    sframe::RemarkedSection decoded = decode_section(image, *section, origin, family, with_remarks);
    check_machine(image, decoded.section.abi, origin);
    found.push_back({name, std::move(decoded.section), std::move(decoded.remarks)});
  }
  if (found.empty()) throw Refused(image.name(), "no .sframe section (run 'sframe-gen FILE' to add one)");
  return found;
}

}  // namespace

std::vector<FileSection> read_sframe_sections(const elf::Image& image) {
  return read_sections_of(image, false);
}

std::vector<FileSection> read_with_remarks(const elf::Image& image) {
  return read_sections_of(image, true);
}

}  // namespace sframe_gen::elf::object
