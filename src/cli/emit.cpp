#include "cli/emit.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cfi/frame_source.hpp"
#include "cli/assembly_starts.hpp"
#include "cli/cfi_image.hpp"
#include "cli/convert_object.hpp"
#include "cli/lower_functions.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/plan/layout.hpp"
#include "files/replace_file.hpp"
#include "object/preconditions.hpp"
#include "sframe/decoder.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string number_or_progbits(std::uint32_t section_type) {
  return section_type == SHT_PROGBITS ? "progbits" : hex(section_type);
}

std::string title(const elf::Image& image, const Report& report, std::string_view section) {
  return std::string(section) + " of " + std::filesystem::path(image.name()).filename().string() + ", " +
         report.format + ", " + report.abi + ", by sframe-gen";
}

/// Nothing is written into the file: it may be signed, have bytes appended, lack room.
void check_readable(const elf::Image& image) {
  elf::machine_of(image);
  const unsigned type = image.header().e_type;
  if (type != ET_EXEC && type != ET_DYN)
    throw Refused(image.name(), "is an ELF file of type " + hex(type) + ", not a program, library or object");
}

std::string object_assembly(const elf::Image& object, const LoweredObject& lowered) {
  const object::NewObjectSection& added = lowered.section;
  sframe::AssemblyFrame frame{number_or_progbits(added.type),
                              {title(object, lowered.report, added.name),
                               "Function starts are places in sections of the source: to be assembled behind it."},
                              {}};
  const std::string known = symbol_of_source(object, added);
  if (!known.empty()) {
    // Alone, section names would stand for sections of this file, which are empty.
    frame.prologue = {".ifndef " + known,
                      ".error \"this is to be assembled behind the source that defines " + known + "\"", ".endif"};
  }
  // No relocation has told the functions apart yet.
  const sframe::Section section =
      sframe::decode(added.bytes, 0, {object.name(), added.name}, {.allow_row_at_end = true, .allow_overlap = true});
  return sframe::assembly_text(added.bytes, section, assembly_functions(object, added), frame);
}

Emitted emit_object(const Options& options, const elf::Image& object) {
  if (options.emit == EmitForm::Section) {
    throw Refused(object.name(),
                  "is a relocatable object, whose .sframe means nothing without its relocations; use --emit=asm, or "
                  "convert the object");
  }
  if (options.section_address)
    throw Refused(object.name(), "is a relocatable object, for which --section-address does not work");
  object::check_describable(object);
  LoweredObject lowered = lower_object(options, object);
  lowered.report.address_from = "none";
  std::string text = object_assembly(object, lowered);
  return {std::move(text), std::move(lowered.report)};
}

std::optional<elf::Section> loaded_section(const elf::Image& image, std::string_view name) {
  const elf::Section* const section = image.find_section(name);
  if (section == nullptr || (section->header.sh_flags & SHF_ALLOC) == 0) return {};
  return *section;
}

/// Where the section will be: its starts are relative to it.
void choose_address(const Options& options, const elf::Image& image, const elf::NewSection& added, Report& report,
                    const Warn& warn) {
  const auto existing = loaded_section(image, added.name);
  if (options.section_address) {
    report.section_address = *options.section_address;
    report.address_from = "option";
  } else if (existing) {
    report.section_address = existing->header.sh_addr;
    report.address_from = "section";
    if (report.section_size > existing->header.sh_size) {
      warn(image.name() + ": its " + existing->name + " has room for " + hex(existing->header.sh_size) +
           " bytes, and this needs " + hex(report.section_size));
    }
  } else if (elf::is_kernel(image)) {
    throw Refused(image.name(), "is a Linux kernel without a " + std::string(added.name) +
                                    " section, and only its linker script can say where one goes: say so with "
                                    "--section-address");
  } else {
    report.section_address = elf::plan_layout(image, report.section_size, added).section_address;
    report.address_from = "plan";
  }
  if (report.section_address + report.section_size < report.section_address)
    throw Refused(image.name(), "a section of " + hex(report.section_size) + " bytes at " +
                                    hex(report.section_address) + " ends outside the address space");
}

std::string linked_assembly(const elf::Image& image, std::span<const std::byte> bytes, const Report& report,
                            const elf::NewSection& added) {
  const std::string symbol = section_address_symbol;
  const sframe::AssemblyFrame frame{
      number_or_progbits(added.type),
      {title(image, report, added.name)},
      {".ifndef " + symbol, ".set " + symbol + ", " + hex(report.section_address), ".endif"}};
  const auto family = added.name == elf::ctf_frame_section.name ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  const sframe::Section section =
      sframe::decode(bytes, report.section_address, {image.name(), std::string(added.name)}, {}, family);
  return sframe::assembly_text(bytes, section, assembly_functions(image, section), frame);
}

Emitted emit_linked(const Options& options, const elf::Image& image, const Warn& warn) {
  check_readable(image);
  std::optional<elf::Image> debug;
  if (options.cfi_from) debug = open_debug_file(image, *options.cfi_from, options.ignore_build_id);
  const elf::NewSection& added = section_for(options.format);
  const emit::Dialect dialect = dialect_for(image, options.format);
  Emitted emitted{{}, new_report(image.name(), {}, dialect)};
  Report& report = emitted.report;
  const emit::SectionEncoder encoder = [&] {
    const cfi::FrameSource source(image, debug ? *debug : image);
    return lower_functions_of(image.name(), source, dialect, report);
  }();
  report.section_size = encoder.encoded_size();
  choose_address(options, image, added, report, warn);
  const std::vector<std::byte> bytes = encoder.encode(report.section_address);
  emitted.contents = options.emit == EmitForm::Section ? text_of(bytes) : linked_assembly(image, bytes, report, added);
  name_holes(report, image);
  return emitted;
}

}  // namespace

Emitted emit_section(const Options& options, const std::filesystem::path& file, const Warn& warn) {
  const elf::Image image = elf::Image::open(file);
  Emitted emitted = image.is_object() ? emit_object(options, image) : emit_linked(options, image, warn);
  emitted.report.output = options.output ? options.output->string() : "-";
  return emitted;
}

void check_standard_output(const Options& options) {
  if (options.emit == EmitForm::Section && ::isatty(STDOUT_FILENO) == 1)
    throw Refused("standard output", "is a terminal, which has no use for bytes; use --output, or redirect it");
}

void write_emitted(const std::string& contents, const std::filesystem::path& file,
                   const std::filesystem::path& output) {
  std::error_code ignored;
  if (std::filesystem::equivalent(file, output, ignored))
    throw Refused(output.string(), "is the input itself, and --emit leaves that as it is");
  files::write_new_file(output, std::as_bytes(std::span(contents)), MappedFile(file));
}

}  // namespace sframe_gen::cli
