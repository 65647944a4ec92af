#include "convert/convert_kernel.hpp"

#include <optional>
#include <string>
#include <utility>

#include "cfi/frame_source.hpp"
#include "convert/coverage.hpp"
#include "convert/debug_file.hpp"
#include "convert/lower_functions.hpp"
#include "convert/reencode.hpp"
#include "elf/kernel_image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "elf/write/fill_section.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

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

}  // namespace sframe_gen::convert
