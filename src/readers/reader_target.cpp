#include <algorithm>
#include <array>

#include "readers/rules.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen {

namespace {

using sframe::Version;

constexpr OutputFormat version_3{};
constexpr OutputFormat version_2_without_undefined{.version = Version::V2, .undefined_ra_rows = false};
constexpr OutputFormat version_2_from_section{
    .version = Version::V2, .pc_relative_starts = false, .undefined_ra_rows = false};

/// Tools of binutils read files of other machines too.
constexpr OutputFormat by_libsframe(OutputFormat format) {
  format.shared_rows = SharedRows::LittleEndian;
  return format;
}

constexpr OutputFormat version_2_44 = by_libsframe(version_2_from_section);
constexpr OutputFormat version_1 = by_libsframe({.version = Version::V1});

constexpr std::array targets{
    ReaderTarget{"kernel", "Linux, for the stacks of programs: SFrame 3, the only version it takes", version_3,
                 &readers::kernel_rules},
    // It counts a row without words as no row, and starts the whole trace over from the DWARF.
    ReaderTarget{"glibc", "backtrace() of glibc 2.42 and 2.43: SFrame 2 without rows for the outermost frame",
                 version_2_without_undefined, &readers::glibc_rules},
    ReaderTarget{"gnu-ld", "linker of binutils 2.46 and later: SFrame 3", by_libsframe(version_3),
                 &readers::gnu_ld_rules},
    // No binutils before 2.46 wrote or knew rows without words.
    ReaderTarget{"gnu-ld-2.45", "linker of binutils 2.45: SFrame 2 without rows for the outermost frame",
                 by_libsframe(version_2_without_undefined), &readers::gnu_ld_2_45_rules},
    ReaderTarget{"gnu-ld-2.44",
                 "linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section",
                 version_2_44, &readers::gnu_ld_2_44_rules},
    ReaderTarget{"gnu-ld-2.40", "linker of binutils 2.40: SFrame 1", version_1, &readers::gnu_ld_2_40_rules},
    ReaderTarget{"libsframe", "library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2",
                 by_libsframe(version_3), &readers::libsframe_rules},
    ReaderTarget{"libsframe-2.44", "the same of binutils 2.41 to 2.44: SFrame 2 before its errata", version_2_44,
                 &readers::libsframe_2_44_rules},
    ReaderTarget{"libsframe-2.40", "the same of binutils 2.40: SFrame 1", version_1, &readers::libsframe_2_40_rules},
    ReaderTarget{"mold", "mold 2.42 and later: SFrame 3", version_3, &readers::mold_rules},
    ReaderTarget{"llvm-readelf", "LLVM 22: SFrame 2", {.version = Version::V2}, &readers::llvm_readelf_rules},
    ReaderTarget{"java-profiler", "DataDog's Java profiler: SFrame 2, starts relative to the section",
                 version_2_from_section, &readers::java_profiler_rules},
};

}  // namespace

std::span<const ReaderTarget> reader_targets() {
  return targets;
}

const ReaderTarget* find_reader_target(std::string_view name) {
  const auto found = std::ranges::find(targets, name, &ReaderTarget::name);
  return found == targets.end() ? nullptr : &*found;
}

}  // namespace sframe_gen
