#include "convert/convert_object.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>
#include <utility>

#include "convert/debug_file.hpp"
#include "convert/reencode.hpp"
#include "elf/machine.hpp"
#include "elf/new_section.hpp"
#include "elf/object/object_check.hpp"
#include "elf/object/object_writer.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/object/relocations.hpp"
#include "elf/records.hpp"
#include "encode/code_coverage.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "files/atomic_file.hpp"
#include "files/regions.hpp"
#include "rows/proof/file_proof.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// Functions in the order of their FDEs, as GNU as has them, each with the symbol that its FDE has.
struct FdeRelocations {
  std::vector<cfi::FrameSource::FdeRelocation> fdes;
  std::vector<std::size_t> order;
};

/// The relocations of the section that an object has.
class SectionReferences {
 public:
  SectionReferences(const elf::Image& object, const sframe::Section& section)
      : code_(elf::object::relocate(object, *object.find_section(elf::sframe_section.name)).code) {
    std::ranges::sort(code_, {}, &elf::object::CodeReference::address);
    for (const sframe::Fde& fde : section.fdes)
      if (!std::ranges::binary_search(code_, fde.start, {}, &elf::object::CodeReference::address))
        throw Refused(object.name(), "FDE at " + hex(fde.start) + " without a relocation that leads to code");
  }

  /// An FDE may have become several, of which the first starts where it did.
  cfi::FrameSource::FdeRelocation reference_to(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(code_, address, {}, &elf::object::CodeReference::address);
    assert(after != code_.begin());
    cfi::FrameSource::FdeRelocation result{*std::prev(after)};
    result.reference.addend += static_cast<std::int64_t>(address - result.reference.address);
    result.reference.address = address;
    return result;
  }

 private:
  std::vector<elf::object::CodeReference> code_;
};

template <typename Source>
FdeRelocations references_of(const emit::SectionEncoder& encoder, const Source& source) {
  FdeRelocations result;
  for (const std::uint64_t address : encoder.starts()) result.fdes.push_back(source.reference_to(address));
  result.order.resize(result.fdes.size());
  std::iota(result.order.begin(), result.order.end(), std::size_t{0});
  std::ranges::sort(result.order, [&](std::size_t a, std::size_t b) { return result.fdes[a] < result.fdes[b]; });
  return result;
}

std::uint32_t symbol_table_of(const FdeRelocations& references, const elf::Image& object) {
  const std::uint32_t first = references.fdes.front().reference.symbol_table;
  const auto differs = [&](const cfi::FrameSource::FdeRelocation& fde) { return fde.reference.symbol_table != first; };
  if (std::ranges::any_of(references.fdes, differs)) throw Refused(object.name(), "relocations by two symbol tables");
  return first;
}

elf::object::NewObjectSection make_section(const emit::SectionEncoder& encoder, const FdeRelocations& references,
                                           const emit::Dialect& dialect, const elf::Image& object) {
  const elf::Machine& machine = elf::machine_of(object);
  elf::object::NewObjectSection section;
  section.name = elf::sframe_section.name;
  // The number came with the flag; older linkers know the section by its name, and gave it no type of its own.
  section.type = dialect.pc_relative_starts ? elf::sframe_section.type : std::uint32_t{SHT_PROGBITS};
  section.alignment = elf::sframe_section.alignment;
  section.bytes = encoder.encode_for_object(references.order);
  if (machine.pads_object_sections) section.bytes.resize(elf::align_up(section.bytes.size(), section.alignment));
  section.symbol_table = symbol_table_of(references, object);
  section.relocation_type = elf::object::pc_relative_relocation(machine.number, dialect.version->start_size);
  for (std::size_t i = 0; i < references.order.size(); ++i) {
    const elf::object::CodeReference& reference = references.fdes[references.order[i]].reference;
    section.relocations.push_back({encoder.start_field(i), reference.symbol, reference.addend});
  }
  return section;
}

/// No linker has merged it: each function has its relocation, and keeps it.
ObjectSection section_from_section(const elf::Image& object, emit::Dialect dialect) {
  dialect.covers_padding = false;
  const Reencoding reencoding(object);
  encode::EncodedFunctions functions = reencoding.encode(dialect);
  const std::uint64_t address = object.find_section(elf::sframe_section.name)->header.sh_addr;
  reencoding.check(encode::encode_at(address, functions.encoder, object.name()), address, sframe::Family::SFrame);
  const SectionReferences references(object, reencoding.section());
  return {make_section(functions.encoder, references_of(functions.encoder, references), dialect, object),
          std::move(functions.coverage), false};
}

/// Functions without bytes, as `.cfi_startproc` and `.cfi_endproc` alone give them, have no PC: nothing is missing.
bool has_only_empty_functions(const cfi::FrameSource& source) {
  const DroppedFdes& dropped = source.dropped();
  return source.size() == 0 && dropped.empty != 0 && dropped.outside_code == 0 && dropped.shadowed == 0 &&
         dropped.unreadable == 0;
}

/// An object with its new section, not written yet.
struct NewObject {
  files::Regions form;
  ObjectOutcome outcome;
  bool is_unchanged = false;
};

NewObject make_object(const elf::Image& object, const ConvertOptions& options) {
  elf::object::check_preconditions(object, options.drop_signature);
  ObjectSection encoded = make_object_section(object, options);
  const std::uint64_t old_size = object.file_bytes().size();
  if (encoded.has_only_empty_functions) {
    NewObject same{files::Regions(), {std::move(encoded.coverage), 0, 0}, true};
    same.form.put_input(0, 0, old_size);
    return same;
  }
  NewObject made{elf::object::with_section(object, encoded.section), {}, false};
  made.outcome = {std::move(encoded.coverage), encoded.section.bytes.size(),
                  static_cast<std::int64_t>(made.form.size() - old_size)};
  return made;
}

void write_object(const elf::Image& object, const NewObject& made, const std::filesystem::path& output) {
  files::AtomicFile file(output, object.file());
  files::write_regions(made.form, object.file(), file.descriptor(), output.string());
  if (!made.is_unchanged)
    elf::object::check_object(object, elf::Image::open(file.descriptor(), object.name()), elf::object::Stored::InFiles);
  file.commit();
}

}  // namespace

ObjectSection make_object_section(const elf::Image& object, const ConvertOptions& options) {
  if (options.format.version == sframe::Version::CtfFrame)
    throw Refused(object.name(), "relocatable object, and no linker merges .ctf_frame");
  if (const char* const asked = encode::option_of_proof(options)) rows::proof::check_supported(object, asked);
  emit::Dialect dialect = encode::dialect_for(object, options.format);
  // A linker copies each descriptor's rows, so that sharing is lost.
  dialect.shares_rows = false;
  if (options.from_section) return section_from_section(object, dialect);
  const auto debug = open_debug_file(object, options);
  const cfi::FrameSource source(object, debug ? *debug : object);
  if (has_only_empty_functions(source)) return {{}, encode::encode_functions(source, {}, dialect).coverage, true};
  encode::EncodedFunctions functions = encode::encode_source(object, source, {}, dialect, options.count_code);
  ObjectSection encoded{make_section(functions.encoder, references_of(functions.encoder, source), dialect, object),
                        std::move(functions.coverage), false};
  encode::name_holes(encoded.coverage, object);
  return encoded;
}

ConvertedObject convert_object(const elf::Image& object, const ConvertOptions& options) {
  NewObject made = make_object(object, options);
  ConvertedObject converted{made.form.bytes(0, made.form.size(), object.file_bytes()), std::move(made.outcome),
                            made.is_unchanged};
  if (!made.is_unchanged) elf::object::check_object(object, elf::Image::of_bytes(converted.bytes, object.name()));
  return converted;
}

ObjectOutcome convert_object_file(const elf::Image& object, const std::filesystem::path& output,
                                  const ConvertOptions& options) {
  NewObject made = make_object(object, options);
  ObjectOutcome outcome = std::move(made.outcome);
  const bool is_there = made.is_unchanged && output == object.name();
  if (!options.dry_run && !is_there) write_object(object, made, output);
  return outcome;
}

}  // namespace sframe_gen::convert
