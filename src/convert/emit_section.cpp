#include "convert/emit_section.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/assembly_names.hpp"
#include "convert/convert_object.hpp"
#include "convert/linked_rows.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/preconditions.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "rewrite/plan/choose.hpp"
#include "sframe/assembly.hpp"
#include "sframe_gen/section.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string number_or_progbits(std::uint32_t section_type) {
  return section_type == SHT_PROGBITS ? "progbits" : hex(section_type);
}

std::string title(const elf::Image& image, const Coverage& coverage, std::string_view section) {
  return std::string(section) + " of " + std::filesystem::path(image.name()).filename().string() + ", " +
         std::string(name_of(coverage.version)) + ", " + std::string(name_of(coverage.abi)) + ", by sframe-gen";
}

/// The file is not written, so it may be signed, have bytes appended, or lack room.
void check_readable(const elf::Image& image) {
  elf::machine_of(image);
  const unsigned type = image.header().e_type;
  if (type != ET_EXEC && type != ET_DYN)
    throw Refused(image.name(), "ELF file of type " + hex(type) + ", not a program, library or object");
}

std::string object_assembly(const elf::Image& object, const ObjectSection& encoded) {
  const elf::object::NewObjectSection& added = encoded.section;
  sframe::AssemblyFrame frame{
      number_or_progbits(added.type),
      {title(object, encoded.coverage, added.name),
       "Function starts name sections of the source, so append this to it and assemble both together."},
      {}};
  const std::string known = symbol_of_source(object, added);
  if (!known.empty()) {
    // Alone, section names would stand for sections of this file, which are empty.
    frame.prologue = {".ifndef " + known,
                      ".error \"append this to the source that defines " + known + " and assemble both together\"",
                      ".endif"};
  }
  // Without its relocations, functions cannot be told apart yet.
  const sframe::Section section =
      sframe::decode(added.bytes, 0, {object.name(), added.name}, {.allow_fre_at_end = true, .allow_overlap = true});
  return sframe::assembly_text(added.bytes, section, assembly_functions(object, added), frame);
}

void check_ends_in_address_space(const elf::Image& image, std::uint64_t address, std::uint64_t size) {
  if (address + size < address)
    throw Refused(image.name(),
                  "a section of " + count_of(size, "byte") + " at " + hex(address) + " ends outside the address space");
}

std::optional<elf::Section> loaded_section(const elf::Image& image, std::string_view name) {
  const elf::Section* const section = image.find_section(name);
  if (section == nullptr || (section->header.sh_flags & SHF_ALLOC) == 0) return {};
  return *section;
}

/// Where the section will be: its starts are relative to it.
void choose_address(const elf::Image& image, const elf::NewSection& added, std::optional<std::uint64_t> given,
                    rewrite::HeaderMoves moves, const WorkObserver& observer, EmitOutcome& emitted) {
  const auto existing = loaded_section(image, added.name);
  if (given) {
    emitted.section_address = *given;
    emitted.address_from = AddressOrigin::Given;
  } else if (existing) {
    emitted.section_address = existing->header.sh_addr;
    emitted.address_from = AddressOrigin::Section;
    if (emitted.section_size > existing->header.sh_size && observer.warn) {
      observer.warn(image.name() + ": its " + existing->name + " has room for " +
                    count_of(existing->header.sh_size, "byte") + ", and this needs " +
                    std::to_string(emitted.section_size));
    }
  } else if (elf::is_kernel(image)) {
    throw Refused(image.name(), "Linux kernel without a " + std::string(added.name) +
                                    " section, and only its linker script can say where one goes: say so with "
                                    "--section-address");
  } else {
    emitted.section_address = rewrite::plan_layout(image, emitted.section_size, added, moves).section_address;
    emitted.address_from = AddressOrigin::Plan;
  }
  check_ends_in_address_space(image, emitted.section_address, emitted.section_size);
}

std::string linked_assembly(const elf::Image& image, std::span<const std::byte> bytes, const EmitOutcome& emitted,
                            const elf::NewSection& added) {
  const std::string symbol = section_address_symbol;
  const sframe::AssemblyFrame frame{
      number_or_progbits(added.type),
      {title(image, emitted.coverage, added.name)},
      {".ifndef " + symbol, ".set " + symbol + ", " + hex(emitted.section_address), ".endif"}};
  const auto family = added.name == elf::ctf_frame_section.name ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  const sframe::Section section =
      sframe::decode(bytes, emitted.section_address, {image.name(), std::string(added.name)}, {}, family);
  return sframe::assembly_text(bytes, section, assembly_functions(image, section), frame);
}

std::vector<std::byte> bytes_at(std::uint64_t address, const emit::SectionEncoder& encoder, const LinkedRows& rows,
                                const elf::Image& image) {
  std::vector<std::byte> bytes = encode::encode_at(address, encoder, image.name());
  rows.check(bytes, address);
  return bytes;
}

}  // namespace

EmitOutcome emit_object(const elf::Image& object, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address) {
  if (form == EmitForm::Section) {
    throw Refused(object.name(),
                  "relocatable object, whose .sframe needs its relocations; use --emit=asm, or "
                  "convert the object");
  }
  if (address) throw Refused(object.name(), "--section-address does not support relocatable objects");
  elf::object::check_describable(object);
  ObjectSection encoded = make_object_section(object, options);
  if (encoded.has_only_empty_functions) throw Refused(object.name(), encode::why_no_function(encoded.coverage));
  EmitOutcome emitted;
  emitted.contents = object_assembly(object, encoded);
  emitted.section_size = encoded.section.bytes.size();
  emitted.coverage = std::move(encoded.coverage);
  return emitted;
}

EmitOutcome emit_linked(const elf::Image& image, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address, const WorkObserver& observer) {
  elf::check_no_overlap(image);
  check_readable(image);
  const elf::NewSection& added = encode::section_for(options.format);
  const LinkedRows rows(image, image, options);
  encode::EncodedFunctions encoded = rows.encode();
  EmitOutcome emitted;
  emitted.coverage = std::move(encoded.coverage);
  emitted.section_size = encoded.encoder.encoded_size();
  choose_address(image, added, address,
                 options.move_headers ? rewrite::HeaderMoves::IfNeeded : rewrite::HeaderMoves::Never, observer,
                 emitted);
  const std::vector<std::byte> bytes = bytes_at(emitted.section_address, encoded.encoder, rows, image);
  emitted.contents = form == EmitForm::Section ? text_of(bytes) : linked_assembly(image, bytes, emitted, added);
  encode::name_holes(emitted.coverage, image);
  return emitted;
}

TranslateOutcome translate_linked(const elf::Image& image, std::uint64_t address, const ConvertOptions& options) {
  check_readable(image);
  const LinkedRows rows(image, image, options);
  encode::EncodedFunctions encoded = rows.encode();
  check_ends_in_address_space(image, address, encoded.encoder.encoded_size());
  TranslateOutcome translated{bytes_at(address, encoded.encoder, rows, image), address, std::move(encoded.coverage)};
  encode::name_holes(translated.coverage, image);
  return translated;
}

}  // namespace sframe_gen::convert
