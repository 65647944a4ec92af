#include "cli/convert_kernel.hpp"

#include <optional>
#include <string>

#include "cfi/frame_source.hpp"
#include "cli/cfi_image.hpp"
#include "cli/lower_functions.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "elf/write/fill_section.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

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

Report convert_kernel(const Options& options, const elf::Image& kernel, const std::filesystem::path& output,
                      std::vector<elf::Trial>& trials) {
  elf::machine_of(kernel);
  elf::check_not_signed(kernel);
  const elf::NewSection& added = section_for(options.format);
  const elf::Section* const reserved = elf::find_reserved(kernel, added);
  std::optional<elf::Image> debug;
  if (options.cfi_from) debug = open_debug_file(kernel, *options.cfi_from, options.ignore_build_id);
  const emit::Dialect dialect = dialect_for(kernel, options.format);
  Report report = new_report(kernel.name(), output, dialect);
  const emit::SectionEncoder encoder = [&] {
    const cfi::FrameSource source(kernel, debug ? *debug : kernel);
    return lower_functions_of(kernel.name(), source, dialect, report);
  }();
  report.section_size = encoder.encoded_size();
  const auto why_not = obstacle(reserved, added.name, report.section_size);
  if (options.explain)
    trials.push_back({"filled", why_not ? *why_not : "fills what the linker script reserved", !why_not, !why_not});
  if (why_not) throw Refused(kernel.name(), *why_not);
  report.section_address = reserved->header.sh_addr;
  report.reserved_size = reserved->header.sh_size;
  report.section_plan = "filled";
  const std::vector<std::byte> bytes = encoder.encode(report.section_address);
  // What can fail comes before the file is replaced.
  name_holes(report, kernel);
  if (!options.dry_run) elf::fill_section(kernel, *reserved, bytes, output);
  return report;
}

}  // namespace sframe_gen::cli
