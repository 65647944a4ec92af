#include "convert/convert_kernel.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/linked_rows.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "rewrite/write/rewrite.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

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
