#include "cli/convert.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cfi/frame_source.hpp"
#include "cli/cfi_image.hpp"
#include "cli/convert_kernel.hpp"
#include "cli/convert_object.hpp"
#include "cli/lower_functions.hpp"
#include "elf/kernel_image.hpp"
#include "elf/plan/layout.hpp"
#include "elf/preconditions.hpp"
#include "elf/undo/original.hpp"
#include "elf/write/rewrite.hpp"
#include "support/heap.hpp"

namespace sframe_gen::cli {

namespace {

/// Kernels that validate .sframe register it for each executable segment and want every function inside that one.
void warn_of_executable_segments(const elf::Image& image, const Warn& warn) {
  const auto executable = [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
  };
  const auto count = std::count_if(image.segments().begin(), image.segments().end(), executable);
  if (count > 1)
    warn(image.name() + ": has " + std::to_string(count) +
         " executable segments; a kernel that validates .sframe may not take it");
}

/// libdwarf's blocks, our tables and the section together take about eight times the size of .eh_frame.
void prepare_heap(const elf::Image& image) {
  constexpr std::uint64_t worth_it = 1 << 20;
  const elf::Section* const eh_frame = image.find_section(".eh_frame");
  if (eh_frame == nullptr || eh_frame->header.sh_size < worth_it) return;
  expect_allocations(8 * std::min<std::uint64_t>(eh_frame->header.sh_size, image.file_bytes().size()));
}

void describe(Report& report, const elf::Layout& layout) {
  report.section_address = layout.section_address;
  report.section_size = layout.section_size;
  report.section_plan = elf::short_name(layout.section_plan);
  report.table_plan = elf::short_name(layout.table_plan);
  report.evicted = layout.evicted;
  report.build_id_moved = layout.build_id_left_first_page;
}

}  // namespace

Report convert(const Options& options, const std::filesystem::path& file, const Warn& warn,
               std::vector<elf::Trial>& trials) {
  const elf::Image opened = elf::Image::open(file);
  const std::filesystem::path output = options.output.value_or(file);
  if (opened.is_object()) return convert_object_file(options, opened, output);
  if (elf::is_kernel(opened)) return convert_kernel(options, opened, output, trials);
  const elf::NewSection& added = section_for(options.format);
  // What was converted before is converted anew, so that a second run, or one of another version, adds nothing to the
  // first, and both can be undone alike.
  const auto original = elf::find_original(opened, added, output.parent_path());
  const elf::Image& image = original ? *original : opened;
  elf::check_preconditions(image);
  std::optional<elf::Image> debug;
  if (options.cfi_from) debug = open_debug_file(image, *options.cfi_from, options.ignore_build_id);

  const emit::Dialect dialect = dialect_for(image, options.format);
  prepare_heap(image);
  Report report = new_report(file, output, dialect);
  std::optional<elf::Rewrite> rewrite;
  if (!options.dry_run) rewrite.emplace(image, opened, output);
  const emit::SectionEncoder encoder = [&] {
    const cfi::FrameSource source(image, debug ? *debug : image);
    if (source.empty() && !image.has_section_headers())
      throw Refused(image.name(), "has no section headers, and no PT_GNU_EH_FRAME to find .eh_frame by");
    return lower_functions_of(image.name(), source, dialect, report);
  }();

  warn_of_executable_segments(image, warn);
  const elf::Layout layout =
      elf::plan_layout(image, encoder.encoded_size(), added, options.explain ? &trials : nullptr);
  // Function starts are stored relative to the section: its place comes before its bytes.
  std::vector<std::byte> bytes = encoder.encode(layout.section_address);
  // What can fail comes before the file is replaced.
  describe(report, layout);
  name_holes(report, image);
  const std::uint64_t size =
      rewrite ? rewrite->finish(layout, std::move(bytes)) : elf::rewritten_size(image, layout, std::move(bytes));
  report.growth = static_cast<std::int64_t>(size - opened.file_bytes().size());
  return report;
}

}  // namespace sframe_gen::cli
