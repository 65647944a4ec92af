// Linkers and those that print, by their sources and by what they did with damaged sections (tests/gnu/check has each).

#include "readers/rules.hpp"

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
