#include "convert/emit_section.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/convert_linked.hpp"
#include "convert/convert_object.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/object/object_writer.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/object/symbol_table.hpp"
#include "elf/preconditions.hpp"
#include "elf/symbol_names.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "rewrite/plan/choose.hpp"
#include "sframe/assembly.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// The symbol that stands for the section's address in the assembly file of a linked file.
constexpr const char* section_address_symbol = "sframe_section_address";

/// Section names as an assembly file can use them.
class ObjectNames {
 public:
  ObjectNames(const elf::Image& object, std::uint32_t symbol_table)
      : object_(object), symbols_(object, symbol_table), budget_(object.file_bytes().size()) {
    for (const elf::Section& section : object.sections()) ++count_of_name_[section.name];
  }

  /// The section of a local symbol has the symbol's place in every assembly of the same source; a global one may
  /// end up as another file's, and FDEs that name it follow it.
  std::string expression(const elf::object::NewRelocation& relocation) {
    const elf::object::Symbol symbol = symbols_.at(relocation.symbol);
    const bool global = symbol.type != STT_SECTION && symbol.binding != STB_LOCAL;
    if (global || !symbol.section)
      return sframe::assembly_name(checked(symbols_.name_of(symbol, budget_.left() + 1))) +
             signed_number(relocation.addend) + " - .";
    const auto offset = static_cast<std::int64_t>(symbol.value) + relocation.addend;
    return section_name(*symbol.section) + signed_number(offset) + " - .";
  }

  std::uint64_t address(const elf::object::NewRelocation& relocation) const {
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
  elf::object::SymbolTable symbols_;
  NameBudget budget_;
  SeededMap<std::string_view, std::size_t> count_of_name_;  ///< sections
};

/// Returns the functions of a linked file as assembly names them: "0x401000 - (sframe_section_address + 28)". `section`
/// is decoded at its address.
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

/// The same for an object. Starts are written as ".text+16 - .", with section names, which the object's assembly source
/// can use as well. Functions that FDEs name by a global symbol keep that symbol. Throws Refused for a section whose
/// name is not unique or cannot be written in assembly.
std::vector<sframe::AssemblyFunction> assembly_functions(const elf::Image& object,
                                                         const elf::object::NewObjectSection& section) {
  ObjectNames object_names(object, section.symbol_table);
  elf::SymbolNames names(object);
  std::vector<sframe::AssemblyFunction> functions;
  functions.reserve(section.relocations.size());
  for (const elf::object::NewRelocation& relocation : section.relocations)
    functions.push_back({object_names.expression(relocation), names.name_at(object_names.address(relocation))});
  return functions;
}

/// A symbol that the object defines, by which an assembly file can find out whether it follows the object's own
/// source. Empty: there is none with a plain name.
std::string symbol_of_source(const elf::Image& object, const elf::object::NewObjectSection& section) {
  const elf::object::SymbolTable symbols(object, section.symbol_table);
  NameBudget budget(object.file_bytes().size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const elf::object::Symbol symbol = symbols.at(i);
    if (!symbol.section || (symbol.type != STT_FUNC && symbol.type != STT_NOTYPE)) continue;
    std::string name(symbols.name_of(symbol, budget.left() + 1));
    if (!budget.take(name.size())) break;
    // Assemblers drop labels with ".L"; "$x" and the like mark what bytes are, and name nothing.
    if (!name.empty() && name[0] != '.' && name[0] != '$' && sframe::assembly_name(name) == name) return name;
  }
  return {};
}

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
