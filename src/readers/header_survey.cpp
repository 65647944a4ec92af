#include "readers/header_survey.hpp"

#include <algorithm>
#include <string>

#include "sframe/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

using sframe::Version;

std::optional<Endian> byte_order_of(std::span<const std::byte> bytes) {
  for (const Endian endian : {Endian::Little, Endian::Big})
    if (load<std::uint16_t>(bytes, endian) == sframe::magic) return endian;
  return std::nullopt;
}

void survey_version(const sframe::VersionTraits& version, Findings& findings) {
  const Fact fact = version.version == Version::V1   ? Fact::Version1
                    : version.version == Version::V2 ? Fact::Version2
                                                     : Fact::Version3;
  findings.add(fact, sframe::header::version_at, "it is " + std::string(version.name));
}

void survey_flags(std::uint8_t flags, const sframe::VersionTraits& version, Findings& findings) {
  constexpr std::uint32_t at = sframe::header::flags_at;
  const unsigned unknown = flags & ~unsigned{version.known_flags};
  if (unknown != 0)
    findings.add(Fact::UnknownFlags, at, "flags " + hex(unknown) + " are not defined in " + std::string(version.name));
  if ((flags & sframe::flag::sorted) == 0)
    findings.add(Fact::NotFlaggedSorted, at, "its index is not flagged as sorted");
  const bool from_field = (flags & sframe::flag::function_start_pc_relative) != 0;
  findings.add(
      from_field ? Fact::StartsFromField : Fact::StartsFromSection, at,
      from_field ? "function starts are relative to their own fields" : "function starts are relative to the section");
}

/// The ABI that the rows are read by.
const sframe::AbiTraits& survey_abi(const Fields& fields, const sframe::AbiTraits& file, Findings& findings) {
  constexpr std::uint32_t at = sframe::header::abi_at;
  const sframe::AbiTraits* const named = sframe::find_abi(fields.u8(at));
  if (named == nullptr) {
    findings.add(fields.u8(at) == 0 ? Fact::NoAbi : Fact::UnknownAbi, at,
                 "ABI is " + hex(fields.u8(at)) + ", which is not defined");
  } else if (named->abi != file.abi) {
    findings.add(Fact::OtherAbi, at,
                 "ABI is " + std::string(sframe::name_of(named->abi)) + ", but the file is for " +
                     std::string(sframe::name_of(file.abi)));
  }
  const sframe::AbiTraits& abi = named != nullptr ? *named : file;
  if (abi.abi == sframe::Abi::S390x) findings.add(Fact::S390x, at, "it is for s390x");
  if (const std::int8_t offset = fields.i8(sframe::header::fixed_fp_at); offset != 0)
    findings.add(Fact::FixedFp, sframe::header::fixed_fp_at,
                 "fixed FP offset is " + std::to_string(offset) + ", not 0");
  if (const std::int8_t offset = fields.i8(sframe::header::fixed_ra_at); offset != abi.fixed_ra_offset)
    findings.add(
        Fact::OtherFixedRa, sframe::header::fixed_ra_at,
        "fixed RA offset is " + std::to_string(offset) + ", but the ABI's is " + std::to_string(abi.fixed_ra_offset));
  return abi;
}

/// Anything but zeros would be data that no field accounts for.
void survey_gap(const Fields& fields, std::uint64_t begin, std::uint64_t end, Findings& findings) {
  const auto gap = fields.bytes().subspan(begin, end - begin);
  const auto stray = std::ranges::find_if(gap, [](std::byte byte) { return byte != std::byte{0}; });
  if (stray == gap.end()) return;
  findings.add(Fact::StrayBytes, begin + static_cast<std::uint64_t>(stray - gap.begin()),
               "bytes belong to neither the function index nor the rows");
}

std::optional<SurveyedHeader> survey_extents(SurveyedHeader header, Findings& findings) {
  const Fields& fields = header.fields;
  const sframe::HeaderFields places(*header.version);
  const std::uint64_t header_end = header.version->header_size() + fields.u8(sframe::header::auxiliary_length_at);
  const std::uint32_t index_from = fields.u32(places.fdes_at()), rows_from = fields.u32(places.fres_at());
  header.index = header_end + index_from;
  header.rows = header_end + rows_from;
  const std::uint64_t index_end = header.index + std::uint64_t{header.function_count} * header.version->descriptor_size;
  const std::uint64_t rows_end = header.rows + fields.u32(places.fre_bytes_at());
  if (index_from > rows_from)
    findings.add(Fact::RowsBeforeIndex, places.fres_at(), "rows start before the function index");
  if (fields.size() == header_end && header.function_count != 0)
    findings.add(Fact::HeaderAlone, places.fde_count_at(), "it ends with its header");
  if (header.rows > fields.size())
    findings.add(Fact::RowsBeginOutside, places.fres_at(), "rows begin outside the section");
  if (index_end > fields.size()) {
    findings.add(Fact::IndexOutside, places.fde_count_at(),
                 count_of(header.function_count, "descriptor") + " end outside the section");
    return std::nullopt;
  }
  if (header.rows < index_end)
    findings.add(Fact::RowsInIndex, places.fres_at(), "rows start before the function index ends");
  if (header.rows > fields.size()) return std::nullopt;
  if (rows_end > fields.size()) findings.add(Fact::RowsOutside, places.fre_bytes_at(), "rows end outside the section");
  header.rows_end = std::min(rows_end, fields.size());
  const bool gap = index_from != 0 || header.rows > index_end;
  if (gap && header.function_count != 0)
    findings.add(Fact::Gap, places.fdes_at(), "index and rows do not follow each other and the header");
  survey_gap(fields, header_end, std::max(header.index, header_end), findings);
  if (header.rows > index_end) survey_gap(fields, index_end, header.rows, findings);
  survey_gap(fields, header.rows_end, fields.size(), findings);
  return header;
}

}  // namespace

std::optional<SurveyedHeader> survey_header(std::span<const std::byte> bytes, const sframe::AbiTraits& abi,
                                            Findings& findings) {
  constexpr std::uint64_t header_size = sframe::VersionTraits{}.header_size();
  if (bytes.size() < header_size) {
    const bool empty = bytes.empty();
    findings.add(empty ? Fact::Empty : Fact::TooShort, 0, empty ? "it is empty" : "it is shorter than a header");
    return std::nullopt;
  }
  const std::optional<Endian> endian = byte_order_of(bytes);
  if (!endian) {
    findings.add(Fact::NoMagic, 0, "it does not begin with SFrame's magic number");
    return std::nullopt;
  }
  const Fields fields(bytes, *endian);
  if (*endian == Endian::Big) findings.add(Fact::ForeignOrder, 0, "it is big-endian");
  const std::uint8_t number = fields.u8(sframe::header::version_at);
  const sframe::VersionTraits* const version = sframe::find_version(number);
  if (version == nullptr) {
    findings.add(Fact::UnknownVersion, sframe::header::version_at,
                 "version " + std::to_string(number) + " is not known");
    return std::nullopt;
  }
  survey_version(*version, findings);
  const sframe::HeaderFields places(*version);
  const std::uint32_t functions = fields.u32(places.fde_count_at()), rows = fields.u32(places.fre_count_at());
  const std::uint8_t flags = fields.u8(sframe::header::flags_at);
  survey_flags(flags, *version, findings);
  const sframe::AbiTraits& rows_abi = survey_abi(fields, abi, findings);
  if (fields.u8(sframe::header::auxiliary_length_at) != 0)
    findings.add(Fact::AuxiliaryHeader, sframe::header::auxiliary_length_at, "it has an auxiliary header");
  if (functions == 0) findings.add(Fact::NoFunctions, places.fde_count_at(), "it has no functions");
  if (rows == 0) findings.add(Fact::NoRows, places.fre_count_at(), "it has no rows");
  return survey_extents({fields, version, &rows_abi, flags, functions, rows, 0, 0, 0}, findings);
}

}  // namespace sframe_gen::readers
