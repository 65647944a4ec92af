#include "sframe/header_decoder.hpp"

#include <algorithm>
#include <string>

#include "sframe/format.hpp"
#include "sframe/remark.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

// Functions may share one block of rows, so a few kilobytes could ask for billions of decoded rows. Sections of real
// programs have one row for every three to six bytes; a section that shares well may reach a few rows a byte.
constexpr std::uint64_t fres_always_allowed = 1U << 20U;
constexpr std::uint64_t fres_allowed_per_byte = 4;

/// The magic number doubles as the mark of the byte order (2.1.1).
Endian byte_order_of(std::span<const std::byte> bytes, const Origin& origin) {
  const std::uint16_t stored = ByteReader(bytes, Endian::Little, origin).u16("magic number");
  if (stored == magic) return Endian::Little;
  if (stored == static_cast<std::uint16_t>(magic << 8U | magic >> 8U)) return Endian::Big;
  throw MalformedInput(origin, 0, "magic number is " + hex(stored) + ", but SFrame has " + hex(magic));
}

const VersionTraits& known_version(std::uint8_t number, Family family, const Origin& origin) {
  const VersionTraits* const version =
      family == Family::CtfFrame ? &traits_of(Version::CtfFrame) : find_version(number);
  if (version != nullptr && version->number == number) return *version;
  throw Refused(origin.file, origin.section + " has version " + std::to_string(number) + ", which is not known");
}

void check_flags(std::uint8_t flags, const VersionTraits& version, const ByteReader& reader) {
  const unsigned unknown = flags & ~unsigned{version.known_flags};
  if (unknown == 0) return;
  reader.fail(header::flags_at, "flags " + hex(unknown) + " are not defined in " + std::string(version.name));
}

const AbiTraits& known_abi(std::uint8_t identifier, const VersionTraits& version, const ByteReader& reader) {
  const AbiTraits* abi = find_abi(identifier);
  if (abi == nullptr || (abi->abi == Abi::S390x && !version.has_s390x)) {
    reader.fail(header::abi_at, "ABI is " + hex(identifier) + ", which is not defined in " + std::string(version.name));
  }
  if (abi->endian != reader.endian()) {
    reader.fail(header::abi_at, "ABI is " + std::string(name_of(abi->abi)) + ", but the byte order is not that ABI's");
  }
  return *abi;
}

void check_fixed_offsets(const Header& header, const ByteReader& reader, const Strictness& strictness) {
  // No ABI saves the frame pointer at a fixed place (3.1).
  if (header.fixed_fp_offset != 0) {
    remark(strictness, reader, header::fixed_fp_at,
           "fixed FP offset is " + std::to_string(header.fixed_fp_offset) + ", not 0");
  }
  if (header.fixed_ra_offset != header.traits->fixed_ra_offset) {
    remark(strictness, reader, header::fixed_ra_at,
           "fixed RA offset is " + std::to_string(header.fixed_ra_offset) + ", but the ABI's is " +
               std::to_string(header.traits->fixed_ra_offset));
  }
}

void check_extents(const Header& header, std::uint64_t section_size, const ByteReader& reader) {
  const HeaderFields fields(*header.version);
  const std::string size_text = " (section size " + hex(section_size) + ")";
  if (header.index_end > section_size) {
    reader.fail(fields.fde_count_at(), count_of(header.fde_count, "function descriptor") + " at " +
                                           hex(header.index_offset) + " end outside the section" + size_text);
  }
  if (header.fres_offset < header.index_end) {
    reader.fail(fields.fres_at(), "rows start at " + hex(header.fres_offset) + ", but the function index ends at " +
                                      hex(header.index_end));
  }
  if (header.fres_end > section_size) {
    reader.fail(fields.fre_bytes_at(), hex(header.fres_end - header.fres_offset) + " bytes of rows at " +
                                           hex(header.fres_offset) + " end outside the section" + size_text);
  }
}

void check_fre_count(const Header& header, std::uint64_t section_size, const Origin& origin) {
  if (header.fre_count <= std::max(fres_always_allowed, fres_allowed_per_byte * section_size)) return;
  throw Refused(origin.file, origin.section + " claims " + count_of(header.fre_count, "row") + " in " +
                                 count_of(section_size, "byte") + ", which no program has");
}

}  // namespace

Header decode_header(std::span<const std::byte> bytes, Family family, const Origin& origin,
                     const Strictness& strictness) {
  ByteReader reader(bytes, byte_order_of(bytes, origin), origin);
  reader.take(header::version_at, "magic number");

  Header header{};
  header.endian = reader.endian();
  header.version = &known_version(reader.u8("version"), family, origin);
  header.flags = reader.u8("flags");
  check_flags(header.flags, *header.version, reader);
  header.traits = &known_abi(reader.u8("ABI"), *header.version, reader);
  header.fixed_fp_offset = reader.i8("fixed FP offset");
  header.fixed_ra_offset = reader.i8("fixed RA offset");
  check_fixed_offsets(header, reader, strictness);

  const std::uint8_t auxiliary_length =
      header.version->has_auxiliary_header ? reader.u8("length of the auxiliary header") : std::uint8_t{0};
  header.fde_count = reader.u32("number of functions");
  header.fre_count = reader.u32("number of rows");
  const std::uint32_t fre_bytes = reader.u32("size of the rows");
  const std::uint32_t index_offset = reader.u32("offset of the function index");
  const std::uint32_t fres_offset = reader.u32("offset of the rows");
  // No version defines contents for it.
  reader.take(auxiliary_length, "auxiliary header");

  header.end = reader.offset();
  header.index_offset = header.end + index_offset;
  header.index_end = header.index_offset + std::uint64_t{header.fde_count} * header.version->descriptor_size;
  header.fres_offset = header.end + fres_offset;
  header.fres_end = header.fres_offset + fre_bytes;
  check_extents(header, bytes.size(), reader);
  check_fre_count(header, bytes.size(), origin);
  return header;
}

}  // namespace sframe_gen::sframe
