#include "cli/format_options.hpp"

#include <charconv>

#include "cli/usage_error.hpp"

namespace sframe_gen::cli {

namespace {

using sframe::Version;

OutputFormat format_of_reader(const std::string& name) {
  const ReaderTarget* const target = find_reader_target(name);
  if (target == nullptr) throw UsageError("--for knows no '" + name + "'; --help lists what it knows");
  return target->format;
}

OutputFormat format_in_detail(const GivenOptions& given) {
  OutputFormat format;
  format.version = given.choice_of<Version>("sframe-version").value_or(format.version);
  format.pc_relative_starts = !given.has("no-pcrel");
  // Erratum 2 came after erratum 1: readers that lack the first lack both, and read garbage from the second's rows.
  format.undefined_ra_rows = !given.has("no-ra-undefined") && format.pc_relative_starts;
  return format;
}

std::uint32_t compact_rows_of(const std::string& text) {
  std::uint32_t rows = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error != std::errc() || stop != text.data() + text.size() || rows == 0 || rows > most_compact_rows)
    throw UsageError("--compact is a number of rows from 1 to " + std::to_string(most_compact_rows) + ", not '" + text +
                     "'");
  return rows;
}

void check(const OutputFormat& format) {
  if (format.version != Version::V2 && !format.pc_relative_starts)
    throw UsageError("--no-pcrel goes with --sframe-version=2 only");
  if (format.version != Version::V2 && format.version != Version::V3 && !format.undefined_ra_rows)
    throw UsageError("--no-ra-undefined goes with --sframe-version=2 and 3 only: its elders have no such rows");
  if (format.version != Version::V3 && format.flexible == FlexibleDescriptors::Always)
    throw UsageError("--flexible=always goes with --sframe-version=3 only: its elders have no flexible descriptors");
}

}  // namespace

OutputFormat format_of(const GivenOptions& given) {
  const std::optional<std::string> reader = given.value_of("for");
  OutputFormat format = reader ? format_of_reader(*reader) : format_in_detail(given);
  format.flexible = given.choice_of<FlexibleDescriptors>("flexible").value_or(format.flexible);
  if (const auto rows = given.value_of("compact")) format.compact_rows = compact_rows_of(*rows);
  check(format);
  return format;
}

}  // namespace sframe_gen::cli
