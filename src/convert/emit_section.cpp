#include "convert/emit_section.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "convert/convert_file.hpp"
#include "convert/convert_object.hpp"
#include "convert/coverage.hpp"
#include "convert/debug_file.hpp"
#include "convert/encode_functions.hpp"
#include "convert/reencode.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "elf/symbol_names.hpp"
#include "object/preconditions.hpp"
#include "object/symbol_table.hpp"
#include "rewrite/plan/layout.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// Section names as an assembly file can use them.
class ObjectNames {
 public:
  ObjectNames(const elf::Image& object, std::uint32_t symbol_table)
      : object_(object), symbols_(object, symbol_table), budget_(object.file_bytes().size()) {
    for (const elf::Section& section : object.sections()) ++count_of_name_[section.name];
  }

  /// The section of a local symbol has the symbol's place in every assembly of the same source; a global one may
  /// end up as another file's, and FDEs that name it follow it.
  std::string expression(const object::NewRelocation& relocation) {
    const object::Symbol symbol = symbols_.at(relocation.symbol);
    const bool global = symbol.type != STT_SECTION && symbol.binding != STB_LOCAL;
    if (global || !symbol.section)
      return sframe::assembly_name(checked(symbols_.name_of(symbol, budget_.left() + 1))) +
             signed_number(relocation.addend) + " - .";
    const auto offset = static_cast<std::int64_t>(symbol.value) + relocation.addend;
    return section_name(*symbol.section) + signed_number(offset) + " - .";
  }

  std::uint64_t address(const object::NewRelocation& relocation) const {
    return symbols_.address_of(symbols_.at(relocation.symbol)).value_or(0) +
           static_cast<std::uint64_t>(relocation.addend);
  }

 private:
  static std::string signed_number(std::int64_t number) {
    return number == 0 ? "" : (number < 0 ? "" : "+") + std::to_string(number);
  }

  std::string checked(std::string_view name) {
    if (!budget_.take(name.size())) throw Refused(object_.name(), "names more than four times as large as the file");
    if (name.empty() || printable(name) != name)
      throw Refused(object_.name(), "name that no assembly file can have: '" + printable(name) + "'");
    return std::string(name);
  }

  std::string section_name(std::uint32_t index) {
    const std::string& name = object_.sections()[index].name;
    if (count_of_name_.at(name) != 1) {
      throw Refused(object_.name(), "several sections named " + name +
                                        ", which an assembly file cannot tell from each other; convert the object");
    }
    return sframe::assembly_name(checked(name));
  }

  const elf::Image& object_;
  object::SymbolTable symbols_;
  NameBudget budget_;
  SeededMap<std::string_view, std::size_t> count_of_name_;  ///< sections
};

}  // namespace

std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& image, const sframe::Section& section) {
  elf::SymbolNames names(image);
  const sframe::VersionTraits& version = sframe::traits_of(section.version);
  const bool from_field =
      (section.flags & sframe::flag::function_start_pc_relative) != 0 || section.version == sframe::Version::CtfFrame;
  std::vector<sframe::AssemblyFunction> functions;
  functions.reserve(section.fdes.size());
  for (std::size_t i = 0; i < section.fdes.size(); ++i) {
    const std::uint64_t field = version.header_size() + std::uint64_t{i} * version.descriptor_size;
    const std::uint64_t start = section.fdes[i].start;
    std::string expression = hex(start) + " - ";
    expression += from_field ? "(" : "";
    expression += section_address_symbol;
    if (from_field) expression.append("+").append(std::to_string(field)).append(")");
    functions.push_back({std::move(expression), names.name_at(start)});
  }
  return functions;
}

std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& object,
                                                         const object::NewObjectSection& section) {
  ObjectNames object_names(object, section.symbol_table);
  elf::SymbolNames names(object);
  std::vector<sframe::AssemblyFunction> functions;
  functions.reserve(section.relocations.size());
  for (const object::NewRelocation& relocation : section.relocations)
    functions.push_back({object_names.expression(relocation), names.name_at(object_names.address(relocation))});
  return functions;
}

std::string symbol_of_source(const elf::Image& object, const object::NewObjectSection& section) {
  const object::SymbolTable symbols(object, section.symbol_table);
  NameBudget budget(object.file_bytes().size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const object::Symbol symbol = symbols.at(i);
    if (!symbol.section || (symbol.type != STT_FUNC && symbol.type != STT_NOTYPE)) continue;
    std::string name(symbols.name_of(symbol, budget.left() + 1));
    if (!budget.take(name.size())) break;
    // Assemblers drop labels with ".L"; "$x" and the like mark what bytes are, and name nothing.
    if (!name.empty() && name[0] != '.' && name[0] != '$' && sframe::assembly_name(name) == name) return name;
  }
  return {};
}

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
  const object::NewObjectSection& added = encoded.section;
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

EmitOutcome emit_object(const elf::Image& object, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address) {
  if (form == EmitForm::Section) {
    throw Refused(object.name(),
                  "relocatable object, whose .sframe needs its relocations; use --emit=asm, or "
                  "convert the object");
  }
  if (address) throw Refused(object.name(), "--section-address does not support relocatable objects");
  object::check_describable(object);
  ObjectSection encoded = make_object_section(object, options);
  if (encoded.has_only_empty_functions) throw Refused(object.name(), why_no_function(encoded.coverage));
  EmitOutcome emitted;
  emitted.contents = object_assembly(object, encoded);
  emitted.section_size = encoded.section.bytes.size();
  emitted.coverage = std::move(encoded.coverage);
  return emitted;
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
                    elf::HeaderMoves moves, const WorkObserver& observer, EmitOutcome& emitted) {
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
    emitted.section_address = elf::plan_layout(image, emitted.section_size, added, moves).section_address;
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

/// Without an address yet.
EncodedFunctions encode_linked(const elf::Image& image, const ConvertOptions& options) {
  check_readable(image);
  if (options.from_section) return Reencoding(image).encode(dialect_for(image, options.format));
  const auto debug = open_debug_file(image, options);
  return encode_functions_of(image, debug ? *debug : image, stubs_for(image, options),
                             dialect_for(image, options.format), options.count_code);
}

std::vector<std::byte> encode_checked(const elf::Image& image, std::uint64_t address,
                                      const emit::SectionEncoder& encoder, const ConvertOptions& options) {
  std::vector<std::byte> bytes = encode_at(address, encoder, image.name());
  if (options.from_section) Reencoding(image).check(bytes, address, family_of(options.format));
  return bytes;
}

EmitOutcome emit_linked(const elf::Image& image, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address, const WorkObserver& observer) {
  elf::check_no_overlap(image);
  const elf::NewSection& added = section_for(options.format);
  EncodedFunctions encoded = encode_linked(image, options);
  EmitOutcome emitted;
  emitted.coverage = std::move(encoded.coverage);
  emitted.section_size = encoded.encoder.encoded_size();
  choose_address(image, added, address, options.move_headers ? elf::HeaderMoves::IfNeeded : elf::HeaderMoves::Never,
                 observer, emitted);
  const std::vector<std::byte> bytes = encode_checked(image, emitted.section_address, encoded.encoder, options);
  emitted.contents = form == EmitForm::Section ? text_of(bytes) : linked_assembly(image, bytes, emitted, added);
  name_holes(emitted.coverage, image);
  return emitted;
}

}  // namespace

}  // namespace sframe_gen::convert

namespace sframe_gen {

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
  convert::EncodedFunctions encoded = convert::encode_linked(image, options);
  convert::check_ends_in_address_space(image, address, encoded.encoder.encoded_size());
  TranslateOutcome translated{convert::encode_checked(image, address, encoded.encoder, options), address,
                              std::move(encoded.coverage)};
  convert::name_holes(translated.coverage, image);
  return translated;
}

}  // namespace sframe_gen
