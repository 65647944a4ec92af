#include "cli/format_options.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "cli/options.hpp"
#include "sframe_gen/format.hpp"

namespace po = boost::program_options;

namespace sframe_gen::cli {

namespace {

constexpr std::array option_names{"sframe-version", "no-pcrel", "no-ra-undefined", "flexible", "for"};

sframe::Version version_of(const std::string& name) {
  if (name == "3") return sframe::Version::V3;
  if (name == "2") return sframe::Version::V2;
  if (name == "1") return sframe::Version::V1;
  if (name == "ctf") return sframe::Version::CtfFrame;
  throw UsageError("--sframe-version is 3, 2, 1 or ctf, not '" + name + "'");
}

FlexibleDescriptors flexible_of(const std::string& name) {
  if (name == "auto") return FlexibleDescriptors::Auto;
  if (name == "always") return FlexibleDescriptors::Always;
  if (name == "never") return FlexibleDescriptors::Never;
  throw UsageError("--flexible is 'auto', 'always' or 'never', not '" + name + "'");
}

const ReaderTarget& target_of(const po::variables_map& values) {
  const auto& name = values["for"].as<std::string>();
  const ReaderTarget* const target = find_reader_target(name);
  if (target == nullptr) throw UsageError("--for knows no '" + name + "'; --help lists what it knows");
  for (const char* other : {"sframe-version", "no-pcrel", "no-ra-undefined"}) {
    if (values.count(other) != 0) throw UsageError("--for and --" + std::string(other) + " exclude each other");
  }
  return *target;
}

void check(const OutputFormat& format) {
  if (format.version != sframe::Version::V2 && !format.pc_relative_starts)
    throw UsageError("--no-pcrel goes with --sframe-version=2 only");
  if (format.version != sframe::Version::V2 && format.version != sframe::Version::V3 && !format.undefined_ra_rows)
    throw UsageError("--no-ra-undefined goes with --sframe-version=2 and 3 only: its elders have no such rows");
  if (format.version != sframe::Version::V3 && format.flexible == FlexibleDescriptors::Always)
    throw UsageError("--flexible=always goes with --sframe-version=3 only: its elders have no flexible descriptors");
}

}  // namespace

void add_format_options(po::options_description& options) {
  auto option = options.add_options();
  option("sframe-version", po::value<std::string>()->value_name("VERSION"),
         "write SFrame version 3 (the default), 2 or 1, or 'ctf' for CTF Frame, which came before them");
  option("for", po::value<std::string>()->value_name("READER"),
         "write what READER takes: version and flags in one word, see below");
  option("no-pcrel",
         "version 2 for readers older than its errata: function starts relative to the section, and --no-ra-undefined");
  option("no-ra-undefined", "leave outermost frames out instead of writing rows without words (version 2, erratum 2)");
  option("flexible", po::value<std::string>()->value_name("WHEN"),
         "version 3: use flexible descriptors 'always', 'never', or ('auto', the default) except on aarch64, where no "
         "reader has met one");
}

bool has_format_options(const po::variables_map& values) {
  return std::any_of(option_names.begin(), option_names.end(),
                     [&](const char* name) { return values.count(name) != 0; });
}

OutputFormat format_of(const po::variables_map& values) {
  OutputFormat format;
  if (values.count("for") != 0) {
    format = target_of(values).format;
  } else {
    if (values.count("sframe-version") != 0) format.version = version_of(values["sframe-version"].as<std::string>());
    format.pc_relative_starts = values.count("no-pcrel") == 0;
    // Erratum 2 is younger than erratum 1: readers without the one make a row of garbage of the other's.
    format.undefined_ra_rows = values.count("no-ra-undefined") == 0 && format.pc_relative_starts;
  }
  if (values.count("flexible") != 0) format.flexible = flexible_of(values["flexible"].as<std::string>());
  check(format);
  return format;
}

std::string reader_target_help() {
  std::ostringstream text;
  for (const ReaderTarget& target : reader_targets()) {
    std::string name(target.name);
    name.resize(std::max<std::size_t>(name.size(), 14), ' ');
    text << "  " << name << "  " << target.meaning << '\n';
  }
  return text.str();
}

}  // namespace sframe_gen::cli
