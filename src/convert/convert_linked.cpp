// The way of a program or library, from its functions to its bytes:
//
//     find_original           rewrite/undo/undo.hpp: what the file was before an earlier conversion
//     check_preconditions     elf/preconditions.hpp: refuses what cannot be rewritten safely
//     Rewrite                 rewrite/write/rewrite.hpp: begins to copy the bytes that few plans move
//     LinkedRows::encode      here: of CFI, or with --from-sframe of the old section
//     encode_file             encode/encode_functions.hpp: of call frame information
//       go_functions_of         encode/row_sources.hpp: functions that Go's linker describes, without their FDEs
//       FrameSource             cfi/frame_source.hpp: the FDEs, ascending, in parts for threads
//         index_frame_section     cfi/frame_index.hpp: the fields of each CIE and FDE of a section
//       prove_for_conversion    rows/proof/file_proof.hpp, if that is asked for: a map is at its head
//       encode_source           encode/encode_functions.hpp: refuses, encodes, counts
//       encode_functions        encode/encode_functions.hpp: in parts, each in a thread
//       EncodedPart             encode/encode_functions.cpp: the functions of a part, one after the other
//         FrameReader             cfi/frame_source.hpp: makes a cfi::Function of an FDE
//           CfiInterpreter          cfi/interpreter.hpp: its rows; cfi/fast_path.hpp runs the common instructions
//           RuleTable               cfi/rules.hpp: each rule once, by number
//         StubMerge               encode/stub_merge.hpp: functions with stubs inside, whose rows come from instructions
//         split_function          emit/split_functions.hpp: makes FDEs of a section, and holes
//           RuleTranslations        emit/encoded_rules.hpp: the bytes of each rule; emit/dialect.hpp: its meaning
//         SectionEncoder          emit/encoder.hpp: the bytes of FDEs and rows
//       cover_padding           encode/encode_functions.hpp, with encode/padding.hpp
//     plan_layout             rewrite/plan/choose.hpp: finds a place for the section
//     Rewrite::begin_writing  rewrite/write/rewrite.hpp: the regions of the file in that layout
//       contents_of             rewrite/edit/contents.hpp: their bytes, but for the section's
//     take_encoded            encode/encode_functions.hpp: the section's bytes, once the layout has given it an address
//     Rewrite::finish         rewrite/write/rewrite.hpp: writes the rest, checks the result, replaces the target
//       RegionWriter            files/regions.hpp: into a file without a name
//       check_layout            rewrite/check/layout_check.hpp: reads that file back
//       AtomicFile              files/atomic_file.hpp: gives it the target's name
//
// translate() (api/convert.cpp) makes the same section for a file in memory: convert/emit_section, down to
// encode_source. For a compact section, emit/compact/rows.hpp collects the rows in place of SectionEncoder.

#include "convert/convert_linked.hpp"

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/debug_file.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "encode/coverage.hpp"
#include "readers/survey.hpp"
#include "rewrite/plan/choose.hpp"
#include "rewrite/undo/undo.hpp"
#include "rewrite/write/rewrite.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// Returns the moves of program headers that the caller allows.
rewrite::HeaderMoves header_moves(const ConvertOptions& options) {
  return options.move_headers ? rewrite::HeaderMoves::IfNeeded : rewrite::HeaderMoves::Never;
}

/// rewrite::plan_layout, of which the observer hears.
rewrite::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                            rewrite::HeaderMoves moves, const WorkObserver& observer) {
  if (!observer.plan) return rewrite::plan_layout(image, section_size, added, moves);
  std::vector<TriedPlan> tried;
  const auto tell = [&] {
    for (const TriedPlan& plan : tried) observer.plan(plan);
  };
  try {
    rewrite::Layout layout = rewrite::plan_layout(image, section_size, added, moves, &tried);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

/// Kernels that validate .sframe register it for each executable segment and want every function inside that one.
void warn_of_executable_segments(const elf::Image& image, const WorkObserver& observer) {
  if (!observer.warn) return;
  const auto executable = [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
  };
  const auto count = std::count_if(image.segments().begin(), image.segments().end(), executable);
  if (count > 1)
    observer.warn(image.name() + ": has " + std::to_string(count) +
                  " executable segments; a kernel built with CONFIG_SFRAME_VALIDATION may refuse .sframe, even for one "
                  "that has all functions");
  if (const auto number = readers::executable_header(image))
    observer.warn(image.name() + ": program header " + std::to_string(*number + 1) +
                  " is executable, but not a PT_LOAD; Linux treats it as code, and then does not use .sframe");
  if (const auto number = readers::code_with_bss(image))
    observer.warn(image.name() + ": executable segment of program header " + std::to_string(*number + 1) +
                  " goes on after its bytes in the file (.bss); Linux does not use .sframe for such code");
}

void warn_of_moved_headers(const elf::Image& image, const rewrite::Layout& layout, const WorkObserver& observer) {
  if (layout.header.e_phoff == image.header().e_phoff || !observer.warn) return;
  observer.warn(image.name() +
                ": its program headers move to the end of the file; strip, objcopy and their like break such a file");
}

/// What `opened` has been made from is lost, but for its code.
void warn_of_earlier_conversion(const elf::Image& opened, const elf::NewSection& added, const WorkObserver& observer) {
  if (!observer.warn || opened.find_section(added.name) == nullptr || opened.find_section(added.undo_name) == nullptr)
    return;
  observer.warn(opened.name() + ": modified since an earlier conversion (by strip?); its " + std::string(added.name) +
                " is replaced" + (added.keeps_undo_record ? ", and --remove will bring that back" : ""));
}

LinkedOutcome outcome_of(Coverage coverage, const rewrite::Layout& layout) {
  LinkedOutcome linked;
  linked.coverage = std::move(coverage);
  linked.section_address = layout.section_address;
  linked.section_size = layout.section_size;
  linked.section_plan = layout.section_plan;
  linked.table_plan = layout.table_plan;
  linked.moved = layout.moved_sections;
  linked.build_id_left_first_page = layout.build_id_left_first_page;
  return linked;
}

}  // namespace

LinkedOutcome convert_linked(const elf::Image& opened, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer) {
  elf::NewSection added = encode::section_for(options.format);
  added.keeps_undo_record = options.keep_undo_record;
  // A converted file is undone first, so that a second run, or one of another version, adds nothing to the
  // first, and both can be undone alike.
  const auto original = rewrite::find_original(opened, added, output.parent_path());
  const elf::Image& image = original ? *original : opened;
  elf::check_preconditions(image);
  const LinkedRows rows(image, opened, options);
  std::optional<rewrite::Rewrite> rewrite;
  if (!options.dry_run) rewrite.emplace(image, opened, output, options.keep_undo_record);
  encode::EncodedFunctions encoded = rows.encode();
  drop_pages(image.file());  // call frame information
  if (!original) warn_of_earlier_conversion(opened, added, observer);
  warn_of_executable_segments(image, observer);
  // What may be was decided when the file was converted first.
  const bool have_moved = original && opened.header().e_phoff != original->header().e_phoff;
  const rewrite::HeaderMoves moves = have_moved ? rewrite::HeaderMoves::IfNeeded : header_moves(options);
  const rewrite::Layout layout = plan_layout(image, encoded.encoder.encoded_size(), added, moves, observer);
  drop_pages(image.file());  // relocations
  warn_of_moved_headers(image, layout, observer);
  if (rewrite) rewrite->begin_writing(layout);
  // Function starts are stored relative to the section: its place comes before its bytes.
  ByteChunks bytes = encode::take_encoded(layout.section_address, encoded.encoder, image.name());
  if (options.from_section) rows.check(joined(bytes), layout.section_address);
  // What can fail comes before the file is replaced.
  LinkedOutcome linked = outcome_of(std::move(encoded.coverage), layout);
  encode::name_holes(linked.coverage, image);
  const std::uint64_t size =
      rewrite ? rewrite->finish(std::move(bytes)) : rewrite::rewritten_size(image, layout, std::move(bytes));
  linked.growth = static_cast<std::int64_t>(size - opened.file_bytes().size());
  return linked;
}

LinkedRows::LinkedRows(const elf::Image& image, const elf::Image& opened, const ConvertOptions& options)
    : image_(image), options_(options) {
  if (const char* const asked = encode::option_of_proof(options); options.from_section && asked != nullptr)
    throw Refused(image.name(), std::string(asked) + " cannot be combined with --from-sframe");
  if (options.from_section) existing_.emplace(opened);
  debug_ = open_debug_file(image, options);
  dialect_ = encode::dialect_for(image, options.format);
}

encode::EncodedFunctions LinkedRows::encode(bool with_stubs) const {
  if (existing_) return existing_->encode(dialect_);
  return encode::encode_file(image_, debug_ ? *debug_ : image_,
                             with_stubs ? encode::stubs_for(image_, options_) : rows::stubs::StubList{}, dialect_,
                             options_);
}

void LinkedRows::check(std::span<const std::byte> bytes, std::uint64_t address) const {
  if (existing_) existing_->check(bytes, address, encode::family_of(options_.format));
}

namespace {

/// Without a value: `bytes` fit.
std::optional<std::string> obstacle(const elf::Section* reserved, std::string_view name, std::uint64_t bytes) {
  if (reserved != nullptr && reserved->header.sh_size >= bytes) return {};
  const std::string room = reserved == nullptr ? "no room" : "only " + count_of(reserved->header.sh_size, "byte");
  return "Linux kernel, which finds its " + std::string(name) + " by its linker script, and has " + room +
         " for one: reserve " + count_of(bytes, "byte") + " in a section " + std::string(name) +
         " there, or use --emit=section";
}

}  // namespace

KernelOutcome convert_kernel(const elf::Image& kernel, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer) {
  elf::machine_of(kernel);
  elf::check_not_signed(kernel);
  const elf::NewSection& added = encode::section_for(options.format);
  const elf::Section* const reserved = elf::find_reserved(kernel, added);
  const LinkedRows rows(kernel, kernel, options);
  constexpr bool with_stubs = false;
  encode::EncodedFunctions encoded = rows.encode(with_stubs);
  const std::uint64_t size = encoded.encoder.encoded_size();
  const auto why_not = obstacle(reserved, added.name, size);
  if (observer.plan) {
    TriedPlan plan;
    plan.section_plan = SectionPlan::Reserved;
    plan.possible = plan.taken = !why_not;
    plan.obstacle = why_not.value_or("");
    observer.plan(plan);
  }
  if (why_not) throw Refused(kernel.name(), *why_not);
  const std::vector<std::byte> bytes = encode::encode_at(reserved->header.sh_addr, encoded.encoder, kernel.name());
  rows.check(bytes, reserved->header.sh_addr);
  // What can fail comes before the file is replaced.
  KernelOutcome filled{std::move(encoded.coverage), reserved->header.sh_addr, size, reserved->header.sh_size};
  encode::name_holes(filled.coverage, kernel);
  if (!options.dry_run) rewrite::fill_section(kernel, *reserved, bytes, output);
  return filled;
}

}  // namespace sframe_gen::convert
