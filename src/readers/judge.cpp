#include "readers/judge.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "elf/kernel_image.hpp"
#include "readers/survey.hpp"
#include "sframe_gen/format.hpp"
#include "support/text.hpp"

// Linkers and those that print, by their sources and by what they did with damaged sections (tests/gnu/check has each).

namespace sframe_gen::readers {
namespace {

using Kind = ReaderVerdict::Kind;

constexpr std::string_view believes = "does not check that";
constexpr std::string_view checks = "checks that";
constexpr std::string_view leaves_out = "leaves such sections out";
constexpr std::string_view fails_link = "fails the link";
constexpr std::string_view swaps = "puts the bytes into its own order, and checks that then";

/// What libsframe's decoder says no to.
constexpr auto refused_by_decoder = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, checks},
    {Fact::TooShort, Kind::Refuses, checks},
    {Fact::NoMagic, Kind::Refuses, checks},
    {Fact::UnknownVersion, Kind::Refuses, checks},
});
/// And then.
constexpr auto refused_in_header = std::to_array<Objection>({
    {Fact::UnknownFlags, Kind::Refuses, checks},
    {Fact::RowsBeforeIndex, Kind::Refuses, checks},
    {Fact::AuxiliaryHeader, Kind::Refuses, swaps, true, Fact::ForeignOrder},
    {Fact::IndexOutside, Kind::Refuses, swaps, true, Fact::ForeignOrder},
    {Fact::SharedRows, Kind::Refuses, "swaps shared bytes twice", true, Fact::ForeignOrder},
    {Fact::RowCount, Kind::Refuses, swaps, true, Fact::ForeignOrder},
    {Fact::StrayBytes, Kind::Refuses, swaps, true, Fact::ForeignOrder},
    {Fact::IndexOutside, Kind::Misreads, believes},
    {Fact::RowsOutside, Kind::Misreads, believes},
});
/// What it takes on trust until it comes there.
constexpr auto on_trust = std::to_array<Objection>({
    {Fact::FixedFp, Kind::Misreads, "believes the header"},
    {Fact::RowsInIndex, Kind::Misreads, believes},
    {Fact::FunctionRowsOutside, Kind::Misreads, believes},
    {Fact::UndefinedRowType, Kind::Misreads, believes},
    {Fact::RowBeyondFunction, Kind::Misreads, "stops there with a failed assertion"},
    {Fact::UndefinedWordSize, Kind::Misreads, believes},
    {Fact::RowOutside, Kind::Misreads, believes},
    {Fact::RowTooLong, Kind::Misreads, believes},
    {Fact::SpareWords, Kind::Misreads, "does not look at them"},
    {Fact::BadFlexible, Kind::Misreads, believes},
    {Fact::TooManyRows, Kind::Misreads, believes},
});

constexpr auto not_version_1 = std::to_array<Objection>({
    {Fact::Version1, Kind::Refuses, "takes versions 2 and 3"},
});
/// Before 2.46 rows were taken to follow the index, whatever the header says.
constexpr auto rows_begin_outside = std::to_array<Objection>({
    {Fact::RowsBeginOutside, Kind::Misreads, believes},
});
constexpr auto rows_behind_index = std::to_array<Objection>({
    {Fact::Gap, Kind::Misreads, "takes the rows to follow the index"},
});
constexpr auto header_alone = std::to_array<Objection>({
    {Fact::HeaderAlone, Kind::Refuses, leaves_out},
});
constexpr auto version_1_left_out = std::to_array<Objection>({
    {Fact::Version1, Kind::Refuses, leaves_out},
});

constexpr auto looked_up_by_libsframe = std::to_array<Objection>({
    {Fact::NotFlaggedSorted, Kind::Refuses, "looks up in a sorted index only"},
    {Fact::NotSorted, Kind::Misreads, "looks up in a sorted index only"},
    {Fact::StartsFromSection, Kind::Misreads, "looks them up relative to their fields"},
    {Fact::NoAbi, Kind::Misreads, "believes the header"},
    {Fact::UnknownAbi, Kind::Misreads, "believes the header"},
    {Fact::OtherAbi, Kind::Misreads, "believes the header"},
    {Fact::NoRepeatSize, Kind::Misreads, "divides by it in look-ups"},
});
constexpr auto not_in_2_44 = std::to_array<Objection>({
    {Fact::Version3, Kind::Refuses, "takes version 2 only"},
    {Fact::StartsFromField, Kind::Refuses, "does not know such starts"},
    {Fact::S390x, Kind::Refuses, "knows no s390x", false},
});
constexpr auto unwanted_in_2_44 = std::to_array<Objection>({
    {Fact::Version1, Kind::Refuses, "takes version 2 only"},
});
constexpr auto not_in_2_40 = std::to_array<Objection>({
    {Fact::Version2, Kind::Refuses, "takes version 1 only"},
    {Fact::Version3, Kind::Refuses, "takes version 1 only"},
    {Fact::S390x, Kind::Refuses, "knows no s390x", false},
});
/// Of both.
constexpr auto old_rows = std::to_array<Objection>({
    {Fact::NoWords, Kind::Misreads, "knows no such rows"},
    {Fact::RowAtEnd, Kind::Misreads, "stops there with a failed assertion"},
});
constexpr auto no_abi = std::to_array<Objection>({
    {Fact::NoAbi, Kind::Refuses, fails_link},
});
constexpr auto not_before_2_45 = std::to_array<Objection>({
    {Fact::NotFlaggedSorted, Kind::Refuses, "looks up in a sorted index only"},
    {Fact::NotSorted, Kind::Misreads, "looks up in a sorted index only"},
    {Fact::NoWords, Kind::Misreads, "knows no such rows"},
    {Fact::RowAtEnd, Kind::Misreads, "stops there with a failed assertion"},
});
constexpr auto no_repeat_size = std::to_array<Objection>({
    {Fact::NoRepeatSize, Kind::Misreads, "divides by it in look-ups"},
});

constexpr auto of_other_type = std::to_array<Objection>({
    {Fact::PlainType, Kind::Refuses, leaves_out},
});
constexpr auto unwanted_by_gnu_ld = std::to_array<Objection>({
    {Fact::Version2, Kind::Refuses, leaves_out},
    {Fact::NoAbi, Kind::Refuses, fails_link},
    {Fact::UnknownAbi, Kind::Misreads, "believes the first file's, and fails the link where another differs"},
    {Fact::OtherAbi, Kind::Misreads, "believes the first file's, and fails the link where another differs"},
    {Fact::StartsFromSection, Kind::Refuses, fails_link},
});
constexpr auto unwanted_by_gnu_ld_2_45 = std::to_array<Objection>({
    {Fact::Version1, Kind::Refuses, leaves_out},
    {Fact::Version3, Kind::Refuses, leaves_out},
    {Fact::NoWords, Kind::Misreads, "knows no such rows"},
});
constexpr auto paired = std::to_array<Objection>({
    {Fact::WrongRelocations, Kind::Misreads, "takes the n-th for the n-th function's"},
});

constexpr auto all_of_libsframe =
    joined(refused_by_decoder, not_version_1, refused_in_header, rows_begin_outside, looked_up_by_libsframe, on_trust);
constexpr auto all_of_libsframe_2_44 = joined(refused_by_decoder, not_in_2_44, refused_in_header, unwanted_in_2_44,
                                              rows_behind_index, not_before_2_45, no_repeat_size, on_trust);
constexpr auto all_of_libsframe_2_40 =
    joined(refused_by_decoder, not_in_2_40, refused_in_header, rows_behind_index, not_before_2_45, on_trust);
constexpr auto all_of_gnu_ld = joined(of_other_type, refused_by_decoder, header_alone, version_1_left_out,
                                      refused_in_header, rows_begin_outside, unwanted_by_gnu_ld, paired, on_trust);
constexpr auto all_of_gnu_ld_2_45 =
    joined(refused_by_decoder, header_alone, refused_in_header, unwanted_by_gnu_ld_2_45, paired, on_trust);
constexpr auto all_of_gnu_ld_2_44 = joined(refused_by_decoder, not_in_2_44, header_alone, refused_in_header,
                                           unwanted_in_2_44, rows_behind_index, paired, no_abi, old_rows, on_trust);
constexpr auto all_of_gnu_ld_2_40 = joined(refused_by_decoder, not_in_2_40, header_alone, refused_in_header,
                                           rows_behind_index, paired, no_abi, old_rows, on_trust);

constexpr auto mold_objections = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, leaves_out},
    {Fact::TooShort, Kind::Refuses, fails_link},
    {Fact::NoMagic, Kind::Refuses, fails_link},
    {Fact::NoAbi, Kind::Refuses, fails_link},
    {Fact::UnknownAbi, Kind::Refuses, fails_link},
    {Fact::OtherAbi, Kind::Refuses, fails_link},
    {Fact::UnknownVersion, Kind::Refuses, leaves_out},
    {Fact::Version1, Kind::Refuses, leaves_out},
    {Fact::Version2, Kind::Refuses, leaves_out},
    {Fact::WrongRelocations, Kind::Misreads, "leaves out functions without one"},
    {Fact::IndexOutside, Kind::Misreads, believes},
    {Fact::RowsBeginOutside, Kind::Misreads, believes},
    {Fact::FunctionRowsOutside, Kind::Misreads, believes},
    {Fact::UndefinedRowType, Kind::Misreads, believes},
    {Fact::UndefinedWordSize, Kind::Misreads, believes},
    {Fact::RowOutside, Kind::Misreads, believes},
    {Fact::RowBeyondFunction, Kind::Misreads, "copies it"},
    {Fact::RowTooLong, Kind::Misreads, "copies it"},
    {Fact::BadFlexible, Kind::Misreads, "copies it"},
});

constexpr auto llvm_readelf_objections = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, checks},
    {Fact::TooShort, Kind::Refuses, checks},
    {Fact::NoMagic, Kind::Refuses, checks},
    {Fact::UnknownVersion, Kind::Refuses, "takes version 2 only"},
    {Fact::Version1, Kind::Refuses, "takes version 2 only"},
    {Fact::Version3, Kind::Refuses, "takes version 2 only"},
    {Fact::IndexOutside, Kind::Refuses, checks},
    {Fact::NoAbi, Kind::Misreads, "believes the header"},
    {Fact::UnknownAbi, Kind::Misreads, "believes the header"},
    {Fact::OtherAbi, Kind::Misreads, "believes the header"},
    {Fact::OtherFixedRa, Kind::Misreads, "believes the header"},
    {Fact::Gap, Kind::Misreads, "takes the rows to follow the index"},
    {Fact::FunctionRowsOutside, Kind::Refuses, checks},
    {Fact::UndefinedRowType, Kind::Refuses, checks},
    {Fact::UndefinedWordSize, Kind::Refuses, checks},
    {Fact::RowOutside, Kind::Refuses, checks},
    {Fact::RowBeyondFunction, Kind::Misreads, believes},
});

}  // namespace

const Rules libsframe_rules{.reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe};
const Rules libsframe_2_44_rules{.reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe_2_44};
const Rules libsframe_2_40_rules{.reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe_2_40};
const Rules gnu_ld_rules{.reads_objects = true, .objections = all_of_gnu_ld};
const Rules gnu_ld_2_45_rules{.reads_objects = true, .objections = all_of_gnu_ld_2_45};
const Rules gnu_ld_2_44_rules{.reads_objects = true, .objections = all_of_gnu_ld_2_44};
const Rules gnu_ld_2_40_rules{.reads_objects = true, .objections = all_of_gnu_ld_2_40};
const Rules mold_rules{.reads_objects = true, .objections = mold_objections};
const Rules llvm_readelf_rules{.reads_linked = true, .reads_kernels = true, .objections = llvm_readelf_objections};

}  // namespace sframe_gen::readers

// Those that walk stacks, by their sources: Linux's unwinder for user stacks, which is not merged yet, glibc 2.42
// and 2.43, DataDog's Java profiler. Of these, glibc's reader has been run on sections like ours
// (tools/glibc-backtrace).

namespace sframe_gen::readers {
namespace {

using Kind = ReaderVerdict::Kind;

constexpr std::string_view only_version_2 = "takes version 2 only";
constexpr std::string_view drops_section = "drops the whole section when it comes there";
constexpr std::string_view validates = "refuses that if it was built with CONFIG_SFRAME_VALIDATION";
constexpr std::string_view needs_segment = "asks program headers for it";
constexpr std::string_view needs_order = "searches a sorted index only";

constexpr auto kernel_objections = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, needs_segment},
    {Fact::NoSegment, Kind::Refuses, needs_segment},
    {Fact::NotLoaded, Kind::Refuses, "reads it where it is mapped"},
    {Fact::TooShort, Kind::Refuses, "asks for a header"},
    {Fact::NoMagic, Kind::Refuses, "asks for it"},
    {Fact::UnknownVersion, Kind::Refuses, "takes version 3 only"},
    {Fact::Version1, Kind::Refuses, "takes version 3 only"},
    {Fact::Version2, Kind::Refuses, "takes version 3 only"},
    {Fact::NotFlaggedSorted, Kind::Refuses, needs_order},
    {Fact::StartsFromSection, Kind::Refuses, "takes starts relative to their fields only"},
    {Fact::AuxiliaryHeader, Kind::Refuses, "takes none"},
    {Fact::NoFunctions, Kind::Refuses, "has no use for that"},
    {Fact::NoRows, Kind::Refuses, "has no use for that"},
    {Fact::RowsBeforeIndex, Kind::Refuses, "takes rows behind the index only"},
    {Fact::IndexOutside, Kind::Refuses, "checks that"},
    {Fact::RowsInIndex, Kind::Refuses, "takes rows behind the index only"},
    {Fact::RowsBeginOutside, Kind::Refuses, "checks that"},
    {Fact::RowsOutside, Kind::Refuses, "checks that"},
    {Fact::OtherFixedRa, Kind::Misreads, "believes the header"},
    {Fact::NotSorted, Kind::Refuses, drops_section},
    {Fact::FunctionRowsOutside, Kind::Refuses, drops_section},
    {Fact::UndefinedRowType, Kind::Refuses, drops_section},
    {Fact::UndefinedType, Kind::Refuses, drops_section},
    {Fact::NoRepeatSize, Kind::Refuses, drops_section},
    {Fact::RowNotAscending, Kind::Refuses, drops_section},
    {Fact::RowBeyondFunction, Kind::Refuses, drops_section},
    {Fact::UndefinedWordSize, Kind::Refuses, drops_section},
    {Fact::RowOutside, Kind::Refuses, drops_section},
    {Fact::RowTooLong, Kind::Refuses, drops_section},
    {Fact::SpareWords, Kind::Refuses, drops_section},
    {Fact::BadFlexible, Kind::Refuses, drops_section},
    {Fact::EqualStarts, Kind::Refuses, validates},
    {Fact::OutsideCode, Kind::Refuses, validates, false},
    {Fact::SeveralCodes, Kind::Refuses, validates, false},
});

constexpr auto glibc_objections = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, needs_segment},
    {Fact::NoSegment, Kind::Refuses, needs_segment},
    {Fact::NotLoaded, Kind::Refuses, "reads it where it is loaded"},
    {Fact::S390x, Kind::Refuses, "walks by it on x86-64 and aarch64 only", false},
    {Fact::UnknownVersion, Kind::Refuses, only_version_2},
    {Fact::Version1, Kind::Refuses, only_version_2},
    {Fact::Version3, Kind::Refuses, only_version_2},
    {Fact::NoWords, Kind::Refuses, "starts the whole trace over from the DWARF where it meets one"},
    {Fact::Gap, Kind::Misreads, "takes the index to follow the header, and the rows the index"},
    {Fact::NotSorted, Kind::Refuses, "finds no function that is out of order"},
});

constexpr auto java_profiler_objections = std::to_array<Objection>({
    {Fact::Empty, Kind::Refuses, needs_segment},
    {Fact::NoSegment, Kind::Refuses, needs_segment},
    {Fact::NotLoaded, Kind::Refuses, "reads it where it is loaded"},
    {Fact::S390x, Kind::Refuses, "walks on x86-64 and aarch64 only", false},
    {Fact::UnknownVersion, Kind::Refuses, only_version_2},
    {Fact::Version1, Kind::Refuses, only_version_2},
    {Fact::Version3, Kind::Refuses, only_version_2},
    {Fact::StartsFromField, Kind::Refuses, "takes starts relative to the section only"},
    {Fact::NoWords, Kind::Misreads, "takes them for a rule"},
    {Fact::NotSorted, Kind::Misreads, believes},
    {Fact::RowsOutside, Kind::Misreads, believes},
});

/// What both take on trust.
constexpr auto taken_on_trust = std::to_array<Objection>({
    {Fact::TooShort, Kind::Misreads, believes},
    {Fact::NoMagic, Kind::Refuses, "asks for it"},
    {Fact::UnknownFlags, Kind::Refuses, "takes flags that it knows"},
    {Fact::NotFlaggedSorted, Kind::Refuses, needs_order},
    {Fact::RowsBeforeIndex, Kind::Refuses, "takes rows behind the index only"},
    {Fact::IndexOutside, Kind::Misreads, believes},
    {Fact::RowsInIndex, Kind::Misreads, believes},
    {Fact::OtherFixedRa, Kind::Misreads, "believes the header"},
    {Fact::FixedFp, Kind::Misreads, "believes the header"},
    {Fact::FunctionRowsOutside, Kind::Misreads, believes},
    {Fact::UndefinedRowType, Kind::Refuses, "finds no rows there"},
    {Fact::NoRepeatSize, Kind::Misreads, "divides by it"},
    {Fact::RowNotAscending, Kind::Misreads, believes},
    {Fact::RowBeyondFunction, Kind::Misreads, believes},
    {Fact::UndefinedWordSize, Kind::Refuses, "finds no rule there"},
    {Fact::RowOutside, Kind::Misreads, believes},
    {Fact::RowTooLong, Kind::Misreads, believes},
    {Fact::SpareWords, Kind::Misreads, believes},
});

constexpr auto all_of_glibc = joined(glibc_objections, taken_on_trust);
constexpr auto all_of_java_profiler = joined(java_profiler_objections, taken_on_trust);

}  // namespace

const Rules kernel_rules{.reads_linked = true, .objections = kernel_objections};
const Rules glibc_rules{.reads_linked = true, .objections = all_of_glibc};
const Rules java_profiler_rules{.reads_linked = true, .objections = all_of_java_profiler};

}  // namespace sframe_gen::readers

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

namespace sframe_gen::readers {
namespace {

bool reads(const ReaderTarget& reader, bool is_object) {
  return is_object ? reader.rules->reads_objects : reader.rules->reads_linked;
}

bool walks_programs(const ReaderTarget& reader) {
  return reader.rules->reads_linked && !reader.rules->reads_kernels;
}

/// Not even by Linux itself: for its own stacks it has other rules than for those of programs.
ReaderVerdict refusal_of_kernel(const ReaderTarget& reader) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  verdict.kind = ReaderVerdict::Kind::Refuses;
  verdict.why = "it is a Linux kernel's own; " + std::string(reader.name) + " walks the stacks of programs";
  return verdict;
}

std::string place_of(const Finding& finding) {
  return finding.offset == Finding::no_offset ? "" : " (.sframe+" + hex(finding.offset) + ")";
}

const Objection* find_objection(const Rules& rules, const Findings& findings) {
  for (const Objection& objection : rules.objections)
    if (findings.has(objection.fact) && findings.has(objection.with)) return &objection;
  return nullptr;
}

}  // namespace

ReaderVerdict judge(const ReaderTarget& reader, bool is_object, const Findings& findings) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  const std::string name(reader.name);
  if (!reads(reader, is_object)) {
    verdict.kind = ReaderVerdict::Kind::Refuses;
    verdict.why = is_object ? "it is in an object; " + name + " reads linked files only"
                            : "it is in a linked file; " + name + " reads objects only";
    return verdict;
  }
  const Objection* const objection = find_objection(*reader.rules, findings);
  if (objection == nullptr) return verdict;
  const Finding& finding = *findings.find(objection->fact);
  verdict.kind = objection->kind;
  verdict.why = finding.text + place_of(finding) + "; " + name + ' ' + std::string(objection->rule);
  verdict.helped_by_target = objection->can_be_helped;
  return verdict;
}

std::vector<ReaderVerdict> judge(const elf::Image& image, std::span<const ReaderTarget* const> readers) {
  const elf::Section* const section = image.find_section(elf::sframe_section_name);
  if (section == nullptr) throw Refused(image.name(), "has no .sframe section");
  // No reader looks there, and --for helps none: it is refused as well.
  if (section->header.sh_type == SHT_NOBITS)
    throw Refused(image.name(), "is a separate debug file: section .sframe has no bytes");
  const Findings findings = survey_file(image, *section);
  const bool is_kernel = elf::is_kernel(image);
  std::vector<ReaderVerdict> verdicts;
  if (readers.empty()) {
    for (const ReaderTarget& reader : reader_targets())
      if (reads(reader, image.is_object()) && !(is_kernel && walks_programs(reader)))
        verdicts.push_back(judge(reader, image.is_object(), findings));
  }
  for (const ReaderTarget* const reader : readers) {
    const bool is_foreign = is_kernel && walks_programs(*reader);
    verdicts.push_back(is_foreign ? refusal_of_kernel(*reader) : judge(*reader, image.is_object(), findings));
  }
  return verdicts;
}

}  // namespace sframe_gen::readers
