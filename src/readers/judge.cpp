#include "readers/judge.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string>

#include "elf/kernel_files.hpp"
#include "readers/survey.hpp"
#include "sframe_gen/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

using enum Fact;
using Kind = ReaderVerdict::Kind;

/// One objection for each of `facts`.
template <typename... Facts>
constexpr auto refuses(std::string_view rule, Facts... facts) {
  return std::array{Objection{facts, Kind::Refuses, rule}...};
}
template <typename... Facts>
constexpr auto misreads(std::string_view rule, Facts... facts) {
  return std::array{Objection{facts, Kind::Misreads, rule}...};
}
/// --for cannot help.
template <typename... Facts>
constexpr auto refuses_for_good(std::string_view rule, Facts... facts) {
  return std::array{Objection{facts, Kind::Refuses, rule, false}...};
}
template <typename... Facts>
constexpr auto misreads_for_good(std::string_view rule, Facts... facts) {
  return std::array{Objection{facts, Kind::Misreads, rule, false}...};
}
template <typename... Facts>
constexpr auto refuses_in_foreign_order(std::string_view rule, Facts... facts) {
  return std::array{Objection{facts, Kind::Refuses, rule, true, ForeignOrder}...};
}

/// Puts lists one after the other.
template <std::size_t... sizes>
constexpr auto joined(const std::array<Objection, sizes>&... lists) {
  std::array<Objection, (sizes + ...)> all{};
  auto next = all.begin();
  ((next = std::ranges::copy(lists, next).out), ...);
  return all;
}

// Linkers and tools that print, by their sources and by what they did with damaged sections (tests/gnu/check has each).

constexpr std::string_view believes = "does not check that";
constexpr std::string_view checks = "checks that";
constexpr std::string_view leaves_out = "leaves such sections out";
constexpr std::string_view fails_link = "fails the link";
constexpr std::string_view swaps = "puts the bytes into its own order, and checks that then";

/// What libsframe's decoder refuses first.
constexpr auto refused_by_decoder = refuses(checks, Empty, TooShort, NoMagic, UnknownVersion);
/// What it refuses after that.
constexpr auto refused_in_header = joined(
    refuses(checks, UnknownFlags, RowsBeforeIndex), refuses_in_foreign_order(swaps, AuxiliaryHeader, IndexOutside),
    refuses_in_foreign_order("swaps shared bytes twice", SharedRows),
    refuses_in_foreign_order(swaps, RowCount, StrayBytes), misreads(believes, IndexOutside, RowsOutside));
/// What it does not check before it is used.
constexpr auto on_trust = joined(
    misreads("trusts the header", FixedFp), misreads(believes, RowsInIndex, FunctionRowsOutside, UndefinedRowType),
    misreads("stops there with a failed assertion", RowBeyondFunction),
    misreads(believes, UndefinedWordSize, RowOutside, RowTooLong), misreads("does not look at them", SpareWords),
    misreads(believes, BadFlexible, TooManyRows));

constexpr auto not_version_1 = refuses("supports only versions 2 and 3", Version1);
/// Before 2.46 rows were taken to follow the index, whatever the header says.
constexpr auto rows_begin_outside = misreads(believes, RowsBeginOutside);
constexpr auto rows_after_index = misreads("assumes that the rows follow the index", Gap);
constexpr auto header_alone = refuses(leaves_out, HeaderAlone);
constexpr auto version_1_left_out = refuses(leaves_out, Version1);

constexpr std::string_view finds_either = "finds the first function of its search that has the address";

constexpr std::string_view takes_from_cfa = "takes what is at the CFA";

constexpr auto looked_up_by_libsframe = joined(
    refuses("searches only a sorted index", NotFlaggedSorted), misreads("searches only a sorted index", NotSorted),
    misreads("looks them up relative to their fields", StartsFromSection),
    misreads("trusts the header", NoAbi, UnknownAbi, OtherAbi), misreads("divides by it in look-ups", NoRepeatSize),
    misreads(finds_either, Overlap), misreads("gives it as one that has no caller", ZeroReturnAddress),
    misreads("gives its number", NoSuchRegister));
constexpr auto not_in_2_44 =
    joined(refuses("supports only version 2", Version3), refuses("does not support such starts", StartsFromField),
           refuses_for_good("does not support s390x", S390x));
constexpr auto unwanted_in_2_44 = refuses("supports only version 2", Version1);
constexpr auto not_in_2_40 =
    joined(refuses("supports only version 1", Version2, Version3), refuses_for_good("does not support s390x", S390x));
/// Objections of binutils 2.40 and 2.44.
constexpr auto old_rows =
    joined(misreads("does not support such rows", NoWords), misreads("stops there with a failed assertion", RowAtEnd));
constexpr auto no_abi = refuses(fails_link, NoAbi);
constexpr auto not_before_2_45 = joined(
    refuses("searches only a sorted index", NotFlaggedSorted), misreads("searches only a sorted index", NotSorted),
    misreads(finds_either, Overlap), misreads(takes_from_cfa, ZeroReturnAddress), old_rows);
constexpr auto no_repeat_size = misreads("divides by it in look-ups", NoRepeatSize);

constexpr auto of_other_type = refuses(leaves_out, PlainType);
constexpr auto unwanted_by_gnu_ld =
    joined(refuses(leaves_out, Version2), refuses(fails_link, NoAbi),
           misreads("trusts the first file's, and fails the link where another differs", UnknownAbi, OtherAbi),
           refuses(fails_link, StartsFromSection));
constexpr auto unwanted_by_gnu_ld_2_45 =
    joined(refuses(leaves_out, Version1, Version3), misreads("does not support such rows", NoWords));
constexpr auto paired = misreads("uses the n-th for the n-th function", WrongRelocations);

constexpr auto all_of_libsframe =
    joined(refused_by_decoder, not_version_1, refused_in_header, rows_begin_outside, looked_up_by_libsframe, on_trust);
constexpr auto all_of_libsframe_2_44 = joined(refused_by_decoder, not_in_2_44, refused_in_header, unwanted_in_2_44,
                                              rows_after_index, not_before_2_45, no_repeat_size, on_trust);
constexpr auto all_of_libsframe_2_40 =
    joined(refused_by_decoder, not_in_2_40, refused_in_header, rows_after_index, not_before_2_45, on_trust);
constexpr auto all_of_gnu_ld = joined(of_other_type, refused_by_decoder, header_alone, version_1_left_out,
                                      refused_in_header, rows_begin_outside, unwanted_by_gnu_ld, paired, on_trust);
constexpr auto all_of_gnu_ld_2_45 =
    joined(refused_by_decoder, header_alone, refused_in_header, unwanted_by_gnu_ld_2_45, paired, on_trust);
constexpr auto all_of_gnu_ld_2_44 = joined(refused_by_decoder, not_in_2_44, header_alone, refused_in_header,
                                           unwanted_in_2_44, rows_after_index, paired, no_abi, old_rows, on_trust);
constexpr auto all_of_gnu_ld_2_40 = joined(refused_by_decoder, not_in_2_40, header_alone, refused_in_header,
                                           rows_after_index, paired, no_abi, old_rows, on_trust);

constexpr auto mold_objections =
    joined(refuses(leaves_out, Empty), refuses(fails_link, TooShort, NoMagic, NoAbi, UnknownAbi, OtherAbi),
           refuses(leaves_out, UnknownVersion, Version1, Version2),
           misreads("leaves out functions without one", WrongRelocations),
           misreads(believes, IndexOutside, RowsBeginOutside, FunctionRowsOutside, UndefinedRowType, UndefinedWordSize,
                    RowOutside),
           misreads("copies it", RowBeyondFunction, RowTooLong, BadFlexible));

constexpr auto llvm_readelf_objections = joined(
    refuses(checks, Empty, TooShort, NoMagic), refuses("supports only version 2", UnknownVersion, Version1, Version3),
    refuses(checks, IndexOutside), misreads("trusts the header", NoAbi, UnknownAbi, OtherAbi, OtherFixedRa),
    misreads("assumes that the rows follow the index", Gap),
    refuses(checks, FunctionRowsOutside, UndefinedRowType, UndefinedWordSize, RowOutside),
    misreads(believes, RowBeyondFunction));

// Readers that walk stacks, by their sources: Linux's unwinder for user stacks, which is not merged yet, glibc 2.42
// to 2.44, DataDog's Java profiler from 1.45.0 to 1.49.0. All were run on sections like ours (docs/readers.md).

constexpr std::string_view only_version_2 = "supports only version 2";
constexpr std::string_view drops_section = "drops the whole section when it comes there";
constexpr std::string_view drops_early = "drops the section when it comes there, or at once if it validates sections";
constexpr std::string_view validates = "refuses that if it was built with CONFIG_SFRAME_VALIDATION";
constexpr std::string_view no_value = "has no value of that, and may take another register for it";
constexpr std::string_view needs_segment = "asks program headers for it";
constexpr std::string_view needs_order = "searches only a sorted index";

constexpr auto kernel_objections = joined(
    refuses(needs_segment, Empty, NoSegment), refuses("reads it where it is mapped", NotLoaded),
    refuses("goes by that size", SegmentSize), refuses("asks for a header", TooShort), refuses("asks for it", NoMagic),
    refuses("supports only version 3", UnknownVersion, Version1, Version2), refuses(needs_order, NotFlaggedSorted),
    refuses("supports only starts relative to their fields", StartsFromSection),
    refuses("supports none", AuxiliaryHeader), refuses("has no use for that", NoFunctions, NoRows),
    refuses("supports only rows after the index", RowsBeforeIndex), refuses("checks that", IndexOutside),
    refuses("supports only rows after the index", RowsInIndex), refuses("checks that", RowsBeginOutside, RowsOutside),
    refuses_for_good("treats it as code, and then refuses the code itself", ExecutableHeader),
    refuses_for_good("supports only code that is in one mapping", CodeWithBss),
    refuses(drops_section, NotSorted, FunctionRowsOutside, UndefinedRowType, UndefinedType, NoRepeatSize,
            FunctionWithoutRows, MoreRowsThanBytes, RowNotAscending, RowBeyondFunction, RowAtEnd, RowBeyondBlock,
            FirstRowLate, UndefinedWordSize, RowOutside, RowTooLong, WordsOfFixedOffsets, ReservedControlBit,
            BadFlexible),
    refuses(validates, EqualStarts), refuses_for_good(drops_early, OutsideCode),
    refuses("drops the whole section when it comes there", CodeBeforeItsFunctions),
    refuses_for_good(validates, SeveralCodes), misreads("trusts the header", OtherFixedRa, FixedFp),
    misreads("takes it for unchanged", FramePointerAtCfa), misreads(no_value, NoSuchRegister),
    misreads_for_good(no_value, UnusualRegister), misreads_for_good("ends traces there", RuleOfCfaItself));

constexpr auto glibc_objections =
    joined(refuses(needs_segment, Empty, NoSegment), refuses("may use the other one", OtherSegment),
           refuses("reads it where it is loaded", NotLoaded),
           refuses_for_good("walks by it only on x86-64 and aarch64", S390x),
           refuses(only_version_2, UnknownVersion, Version1, Version3),
           refuses("starts the whole trace over from the DWARF where it meets one", NoWords),
           misreads("assumes that the index follows the header, and the rows the index", Gap),
           refuses("finds no function that is out of order", NotSorted), misreads(finds_either, Overlap),
           misreads(takes_from_cfa, ZeroReturnAddress));

/// A section that it does not refuse is used in place of DWARF. The specification has the width of row starts in bits 0
/// to 3 of an FDE's info, and its type in bit 4; bit 0 of a row's info is set for SP.
constexpr auto java_profiler_objections =
    joined(refuses(needs_segment, Empty, NoSegment), refuses("uses the first one", OtherSegment),
           refuses("reads it where it is loaded", NotLoaded), refuses("walks only on x86-64 and aarch64", S390x),
           refuses(checks, TooShort, NoMagic), refuses(only_version_2, UnknownVersion, Version1, Version3),
           refuses(checks, NoAbi, UnknownAbi, OtherAbi),
           refuses("supports only starts relative to the section", StartsFromField),
           refuses(checks, RowsBeginOutside, RowsOutside, IndexOutside, RowsInIndex),
           refuses("has no use for that", NoFunctions, NoRows),
           misreads("takes bit 0 of a row's info for the base FP, and that of an FDE's info for its type", Version2));

constexpr auto all_of_glibc =
    joined(glibc_objections, misreads(believes, TooShort), refuses("asks for it", NoMagic),
           refuses("supports only the flags of its version", UnknownFlags), refuses(needs_order, NotFlaggedSorted),
           refuses("supports only rows after the index", RowsBeforeIndex),
           misreads(believes, IndexOutside, RowsInIndex), misreads("trusts the header", OtherFixedRa, FixedFp),
           misreads(believes, FunctionRowsOutside), refuses("finds no rows there", UndefinedRowType),
           misreads("divides by it", NoRepeatSize), misreads(believes, RowNotAscending, RowBeyondFunction),
           refuses("finds no rule there", UndefinedWordSize), misreads(believes, RowOutside, RowTooLong, SpareWords));

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

/// A linker merges sections, and gives functions other places.
constexpr OutputFormat by_linker(OutputFormat format) {
  format.covers_padding = false;
  return by_libsframe(format);
}

/// Linux scans rows from the start of a descriptor, with two reads of user memory for each. Its reader is the same for
/// all machines.
constexpr OutputFormat by_kernel(OutputFormat format) {
  format.flexible = FlexibleDescriptors::Always;
  format.most_rows = 256;
  return format;
}

constexpr OutputFormat version_2_44 = by_libsframe(version_2_from_section);
constexpr OutputFormat version_1 = by_libsframe({.version = Version::V1});

/// A reader as others see it, and what it does not accept.
struct KnownReader {
  ReaderTarget target;
  const readers::ReaderRules* rules = nullptr;
};

constexpr std::array known_readers{
    KnownReader{{"kernel", "Linux, for the stacks of programs: only SFrame 3", by_kernel(version_3)},
                &readers::kernel_rules},
    // It counts a row without data words as no row, and starts the whole trace over from the DWARF.
    KnownReader{{"glibc", "backtrace() of glibc 2.42 to 2.44: SFrame 2 without rows for the outermost frame",
                 version_2_without_undefined},
                &readers::glibc_rules},
    KnownReader{{"gnu-ld", "linker of binutils 2.46 and later: SFrame 3", by_linker(version_3)},
                &readers::gnu_ld_rules},
    // No binutils before 2.46 wrote or supported rows without data words.
    KnownReader{
        {"gnu-ld-2.45", "linker of binutils 2.45, for --check only: SFrame 2 without rows for the outermost frame",
         OutputFormat{}},
        &readers::gnu_ld_2_45_rules},
    KnownReader{
        {"gnu-ld-2.44", "linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section",
         by_linker(version_2_44)},
        &readers::gnu_ld_2_44_rules},
    KnownReader{{"gnu-ld-2.40", "linker of binutils 2.40: SFrame 1", by_linker(version_1)},
                &readers::gnu_ld_2_40_rules},
    KnownReader{{"libsframe", "library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2",
                 by_libsframe(version_3)},
                &readers::libsframe_rules},
    KnownReader{{"libsframe-2.44", "the same of binutils 2.41 to 2.44: SFrame 2 before its errata", version_2_44},
                &readers::libsframe_2_44_rules},
    KnownReader{{"libsframe-2.40", "the same of binutils 2.40: SFrame 1", version_1}, &readers::libsframe_2_40_rules},
    KnownReader{{"mold", "mold 2.42 and later: SFrame 3", version_3}, &readers::mold_rules},
    KnownReader{{"llvm-readelf", "LLVM 22: SFrame 2", {.version = Version::V2}}, &readers::llvm_readelf_rules},
    KnownReader{{"java-profiler", "DataDog's Java profiler, for --check only: it reads another layout than SFrame 2",
                 OutputFormat{}},
                &readers::java_profiler_rules},
};

/// The same order as `known_readers`.
constexpr auto targets = [] {
  std::array<ReaderTarget, known_readers.size()> made{};
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = known_readers[i].target;
  return made;
}();

bool reads(const ReaderTarget& reader, bool is_object) {
  return is_object ? rules_of(reader).reads_objects : rules_of(reader).reads_linked;
}

bool walks_programs(const ReaderTarget& reader) {
  return rules_of(reader).reads_linked && !rules_of(reader).reads_kernels;
}

/// Not even by Linux itself: for its own stacks it has other rules than for those of programs.
ReaderVerdict refusal_of_kernel(const ReaderTarget& reader) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  verdict.kind = ReaderVerdict::Kind::Refuses;
  verdict.finding = "it is a Linux kernel's own";
  verdict.rule = "walks the stacks of programs";
  return verdict;
}

/// The series for x86-64 and s390x is what the name stands for.
std::string_view patches_for(const ReaderTarget& reader, const elf::Image& image) {
  const bool is_of_arm = reader.name == "kernel" && image.header().e_machine == EM_AARCH64;
  return is_of_arm ? "arm64 patches of April 2026, version 1" : "";
}

const Objection* find_objection(const ReaderRules& rules, const Findings& findings) {
  for (const Objection& objection : rules.objections)
    if (findings.has(objection.fact) && findings.has(objection.with)) return &objection;
  return nullptr;
}

}  // namespace

const ReaderRules libsframe_rules{.reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe};
const ReaderRules libsframe_2_44_rules{
    .reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe_2_44};
const ReaderRules libsframe_2_40_rules{
    .reads_linked = true, .reads_kernels = true, .objections = all_of_libsframe_2_40};
const ReaderRules gnu_ld_rules{.reads_objects = true, .objections = all_of_gnu_ld};
// No suite of Debian has it, so it merged none of our sections. Of objects, --for=glibc writes what its source reads.
const ReaderRules gnu_ld_2_45_rules{
    .reads_objects = true,
    .objections = all_of_gnu_ld_2_45,
    .why_no_format = "could not be tested (for objects, --for=glibc writes what its source reads)"};
const ReaderRules gnu_ld_2_44_rules{.reads_objects = true, .objections = all_of_gnu_ld_2_44};
const ReaderRules gnu_ld_2_40_rules{.reads_objects = true, .objections = all_of_gnu_ld_2_40};
const ReaderRules mold_rules{.reads_objects = true, .objections = mold_objections};
const ReaderRules llvm_readelf_rules{
    .reads_linked = true, .reads_kernels = true, .objections = llvm_readelf_objections};

const ReaderRules kernel_rules{.reads_linked = true, .objections = kernel_objections};
const ReaderRules glibc_rules{.reads_linked = true, .objections = all_of_glibc};
const ReaderRules java_profiler_rules{
    .reads_linked = true,
    .objections = java_profiler_objections,
    .why_no_format = "reads another layout, and walks by DWARF where a file has no section"};

}  // namespace sframe_gen::readers

namespace sframe_gen {

std::span<const ReaderTarget> readers::known_targets() {
  return targets;
}

}  // namespace sframe_gen

namespace sframe_gen::readers {

const ReaderRules& rules_of(const ReaderTarget& reader) {
  const auto found = std::ranges::find(targets, reader.name, &ReaderTarget::name);
  if (found == targets.end()) throw Refused(std::string(reader.name), "unknown reader");
  return *known_readers[static_cast<std::size_t>(found - targets.begin())].rules;
}

ReaderVerdict judge(const ReaderTarget& reader, bool is_object, const Findings& findings) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  if (!reads(reader, is_object)) {
    verdict.kind = ReaderVerdict::Kind::Refuses;
    verdict.finding = is_object ? "it is in an object" : "it is in a linked file";
    verdict.rule = is_object ? "reads only linked files" : "reads only objects";
    return verdict;
  }
  const Objection* const objection = find_objection(rules_of(reader), findings);
  if (objection == nullptr) return verdict;
  const Finding& finding = *findings.find(objection->fact);
  verdict.kind = objection->kind;
  if (finding.offset != Finding::no_offset) verdict.offset = finding.offset;
  verdict.finding = finding.text;
  verdict.rule = objection->rule;
  verdict.helped_by_target = objection->can_be_helped && rules_of(reader).why_no_format.empty();
  return verdict;
}

std::vector<ReaderVerdict> judge(const elf::Image& image, std::span<const ReaderTarget* const> readers) {
  const elf::Section* const section = image.find_section(elf::sframe_section_name);
  if (section == nullptr) throw Refused(image.name(), "no .sframe section (run 'sframe-gen FILE' to add one)");
  // No reader looks there, and --for helps none: it is refused as well.
  if (section->header.sh_type == SHT_NOBITS)
    throw Refused(image.name(), "separate debug file: section .sframe has no bytes");
  const Findings findings = survey_file(image, *section);
  const bool is_kernel = elf::is_kernel(image);
  std::vector<ReaderVerdict> verdicts;
  if (readers.empty()) {
    for (const ReaderTarget& reader : known_targets())
      if (reads(reader, image.is_object()) && !(is_kernel && walks_programs(reader)))
        verdicts.push_back(judge(reader, image.is_object(), findings));
  }
  for (const ReaderTarget* const reader : readers) {
    const bool is_foreign = is_kernel && walks_programs(*reader);
    verdicts.push_back(is_foreign ? refusal_of_kernel(*reader) : judge(*reader, image.is_object(), findings));
  }
  for (ReaderVerdict& verdict : verdicts) verdict.patches = patches_for(*verdict.reader, image);
  return verdicts;
}

}  // namespace sframe_gen::readers
