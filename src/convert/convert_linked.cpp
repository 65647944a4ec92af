#include "convert/convert_linked.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "convert/coverage.hpp"
#include "convert/lower_functions.hpp"
#include "convert/reencode.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/plan/layout.hpp"
#include "elf/preconditions.hpp"
#include "elf/undo/undo.hpp"
#include "elf/write/rewrite.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

elf::HeaderMoves header_moves(const ConvertOptions& options) {
  return options.move_headers ? elf::HeaderMoves::IfNeeded : elf::HeaderMoves::Never;
}

elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        elf::HeaderMoves moves, const Observer& observer) {
  if (!observer.plan) return elf::plan_layout(image, section_size, added, moves);
  std::vector<TriedPlan> tried;
  const auto tell = [&] {
    for (const TriedPlan& plan : tried) observer.plan(plan);
  };
  try {
    elf::Layout layout = elf::plan_layout(image, section_size, added, moves, &tried);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

namespace {

/// Without a value: `bytes` fit.
std::optional<std::string> obstacle(const elf::Section* reserved, std::string_view name, std::uint64_t bytes) {
  if (reserved != nullptr && reserved->header.sh_size >= bytes) return {};
  const std::string room = reserved == nullptr ? "no room" : "only " + hex(reserved->header.sh_size) + " bytes";
  return "is a Linux kernel, which finds its " + std::string(name) + " by its linker script, and has " + room +
         " for one: reserve " + hex(bytes) + " bytes in a section " + std::string(name) +
         " there, or use --emit=section";
}

}  // namespace

Filled convert_kernel(const elf::Image& kernel, const std::filesystem::path& output, const ConvertOptions& options,
                      const Observer& observer) {
  elf::machine_of(kernel);
  elf::check_not_signed(kernel);
  const elf::NewSection& added = section_for(options.format);
  const elf::Section* const reserved = elf::find_reserved(kernel, added);
  const emit::Dialect dialect = dialect_for(kernel, options.format);
  std::optional<Reencoding> existing;
  if (options.from_section) existing.emplace(kernel);
  const auto debug = open_debug_file(kernel, options);
  LoweredFunctions lowered = existing
                                 ? existing->lower(dialect)
                                 : lower_functions_of(kernel, debug ? *debug : kernel, {}, dialect, options.count_code);
  const std::uint64_t size = lowered.encoder.encoded_size();
  const auto why_not = obstacle(reserved, added.name, size);
  if (observer.plan)
    observer.plan({"filled", why_not ? *why_not : "fills what the linker script reserved", !why_not, !why_not});
  if (why_not) throw Refused(kernel.name(), *why_not);
  const std::vector<std::byte> bytes = encode_at(reserved->header.sh_addr, lowered.encoder, kernel.name());
  if (existing) existing->check(bytes, reserved->header.sh_addr, family_of(options.format));
  // What can fail comes before the file is replaced.
  Filled filled{std::move(lowered.coverage), reserved->header.sh_addr, size, reserved->header.sh_size};
  name_holes(filled.coverage, kernel);
  if (!options.dry_run) elf::fill_section(kernel, *reserved, bytes, output);
  return filled;
}

namespace {

/// Kernels that validate .sframe register it for each executable segment and want every function inside that one.
void warn_of_executable_segments(const elf::Image& image, const Observer& observer) {
  if (!observer.warn) return;
  const auto executable = [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
  };
  const auto count = std::count_if(image.segments().begin(), image.segments().end(), executable);
  if (count > 1)
    observer.warn(image.name() + ": has " + std::to_string(count) +
                  " executable segments; a kernel that validates .sframe may not take it");
}

void warn_of_moved_headers(const elf::Image& image, const elf::Layout& layout, const Observer& observer) {
  if (layout.header.e_phoff == image.header().e_phoff || !observer.warn) return;
  observer.warn(image.name() +
                ": its program headers move to the end of the file; strip, objcopy and their like break such a file");
}

LoweredFunctions lower(const elf::Image& image, const elf::Image& cfi_image, const stubs::Found& stubs,
                       const emit::Dialect& dialect, bool count_code) {
  const cfi::FrameSource source(image, cfi_image);
  if (source.empty() && !image.has_section_headers())
    throw Refused(image.name(), "has no section headers, and no PT_GNU_EH_FRAME to find .eh_frame by");
  return lower_functions_of(image, source, stubs, dialect, count_code);
}

Linked outcome_of(Coverage coverage, const elf::Layout& layout) {
  Linked linked;
  linked.coverage = std::move(coverage);
  linked.section_address = layout.section_address;
  linked.section_size = layout.section_size;
  linked.section_plan = elf::short_name(layout.section_plan);
  linked.table_plan = elf::short_name(layout.table_plan);
  linked.moved = layout.moved_sections;
  linked.build_id_left_first_page = layout.build_id_left_first_page;
  return linked;
}

}  // namespace

Linked convert_linked(const elf::Image& opened, const std::filesystem::path& output, const ConvertOptions& options,
                      const Observer& observer) {
  elf::NewSection added = section_for(options.format);
  added.keeps_way_back = options.keep_way_back;
  // A converted file is undone first, so that a second run, or one of another version, adds nothing to the
  // first, and both can be undone alike.
  const auto original = elf::find_original(opened, added, output.parent_path());
  const elf::Image& image = original ? *original : opened;
  elf::check_preconditions(image);
  std::optional<Reencoding> existing;
  if (options.from_section) existing.emplace(opened);
  const auto debug = open_debug_file(image, options);
  const emit::Dialect dialect = dialect_for(image, options.format);
  std::optional<elf::Rewrite> rewrite;
  if (!options.dry_run) rewrite.emplace(image, opened, output, options.keep_way_back);
  LoweredFunctions lowered =
      existing ? existing->lower(dialect)
               : lower(image, debug ? *debug : image, stubs_for(image, options), dialect, options.count_code);

  let_go(image.file());  // call frame information
  warn_of_executable_segments(image, observer);
  // What may be was decided when the file was converted first.
  const bool have_moved = original && opened.header().e_phoff != original->header().e_phoff;
  const elf::HeaderMoves moves = have_moved ? elf::HeaderMoves::IfNeeded : header_moves(options);
  const elf::Layout layout = plan_layout(image, lowered.encoder.encoded_size(), added, moves, observer);
  let_go(image.file());  // relocations
  warn_of_moved_headers(image, layout, observer);
  if (rewrite) rewrite->place(layout);
  // Function starts are stored relative to the section: its place comes before its bytes.
  BytePieces bytes = take_encoded(layout.section_address, lowered.encoder, image.name());
  if (existing) existing->check(joined(bytes), layout.section_address, family_of(options.format));
  // What can fail comes before the file is replaced.
  Linked linked = outcome_of(std::move(lowered.coverage), layout);
  name_holes(linked.coverage, image);
  const std::uint64_t size =
      rewrite ? rewrite->finish(std::move(bytes)) : elf::rewritten_size(image, layout, std::move(bytes));
  linked.growth = static_cast<std::int64_t>(size - opened.file_bytes().size());
  return linked;
}

}  // namespace sframe_gen::convert
