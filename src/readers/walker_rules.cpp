// Those that walk stacks, by their sources: Linux's unwinder for user stacks, which is not merged yet, glibc 2.42
// and 2.43, DataDog's Java profiler. Of these, glibc's reader has been run on sections like ours
// (tools/glibc-backtrace).

#include "readers/rules.hpp"

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
