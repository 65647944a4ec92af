#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
namespace {

/// A header (2.2) after its checks, and where the parts of its section are.
///
///     | header | auxiliary header | … | function index | … | rows | … |
struct HeaderView {
  detail::ViewFields fields;
  std::uint64_t end = 0;  ///< offset in the section of the first byte after the auxiliary header
  std::uint64_t index_offset = 0, index_end = 0;
  std::uint64_t rows_offset = 0, rows_end = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, Family family, HeaderView& header)
      : bytes_(bytes), family_(family), header_(header) {}

  ViewFault read(std::uint64_t address) {
    if (const ViewFault fault = read_preamble()) return fault;
    if (bytes_.size() < traits_->header_size()) return {ViewProblem::TooShort, bytes_.size()};
    if (const ViewFault fault = read_abi()) return fault;
    if (const ViewFault fault = read_extents()) return fault;
    place_starts(address);
    return {};
  }

 private:
  std::uint8_t byte_at(std::uint64_t offset) const { return std::to_integer<std::uint8_t>(bytes_.data()[offset]); }
  std::uint32_t u32_at(std::uint64_t offset) const {
    return load<std::uint32_t>({bytes_.data() + offset, sizeof(std::uint32_t)}, header_.fields.endian);
  }

  /// The magic number doubles as the mark of the byte order (2.1.1).
  ViewFault read_preamble() {
    if (bytes_.size() < header::abi_at) return {ViewProblem::TooShort, bytes_.size()};
    const auto stored = load<std::uint16_t>(bytes_, Endian::Little);
    if (stored != magic && stored != swapped(magic)) return {ViewProblem::NoMagic, 0};
    header_.fields.endian = stored == magic ? Endian::Little : Endian::Big;
    traits_ = find_version(byte_at(header::version_at), family_);
    if (traits_ == nullptr) return {ViewProblem::UnknownVersion, header::version_at};
    header_.fields.version = traits_->version;
    header_.fields.flags = byte_at(header::flags_at);
    if ((header_.fields.flags & ~unsigned{traits_->known_flags}) != 0) {
      return {ViewProblem::UnknownFlags, header::flags_at};
    }
    return {};
  }

  ViewFault read_abi() {
    const AbiTraits* const abi = find_abi(byte_at(header::abi_at));
    if (abi == nullptr || abi->endian != header_.fields.endian || !has_abi(*traits_, *abi)) {
      return {ViewProblem::WrongAbi, header::abi_at};
    }
    header_.fields.abi = abi;
    // No ABI saves the frame pointer at a fixed place (3.1).
    if (byte_at(header::fixed_fp_at) != 0) return {ViewProblem::WrongFixedOffset, header::fixed_fp_at};
    if (static_cast<std::int8_t>(byte_at(header::fixed_ra_at)) != abi->fixed_ra_offset) {
      return {ViewProblem::WrongFixedOffset, header::fixed_ra_at};
    }
    return {};
  }

  ViewFault read_extents() {
    const HeaderFields at(*traits_);
    const std::uint64_t auxiliary_size = traits_->has_auxiliary_header ? byte_at(header::auxiliary_length_at) : 0;
    header_.fields.count = u32_at(at.fde_count_at());
    header_.fields.row_count = u32_at(at.fre_count_at());
    header_.fields.rows_size = u32_at(at.fre_bytes_at());
    header_.end = traits_->header_size() + auxiliary_size;
    header_.index_offset = header_.end + u32_at(at.fdes_at());
    header_.index_end = header_.index_offset + std::uint64_t{header_.fields.count} * traits_->descriptor_size;
    header_.rows_offset = header_.end + u32_at(at.fres_at());
    header_.rows_end = header_.rows_offset + header_.fields.rows_size;
    if (header_.end > bytes_.size()) return {ViewProblem::TooShort, bytes_.size()};
    if (header_.index_end > bytes_.size()) return {ViewProblem::OutsideSection, at.fde_count_at()};
    if (header_.rows_offset < header_.index_end) return {ViewProblem::OutsideSection, at.fres_at()};
    if (header_.rows_end > bytes_.size()) return {ViewProblem::OutsideSection, at.fre_bytes_at()};
    if (header_.fields.row_count > most_rows(bytes_.size())) return {ViewProblem::TooManyRows, at.fre_count_at()};
    header_.fields.index = bytes_.data() + header_.index_offset;
    header_.fields.rows = bytes_.data() + header_.rows_offset;
    return {};
  }

  /// A start counts from its own field or from the section (2.1.3); in CTF Frame from the descriptor, whose first field
  /// it is.
  void place_starts(std::uint64_t address) {
    const bool from_field =
        (header_.fields.flags & flag::function_start_pc_relative) != 0 || traits_->version == Version::CtfFrame;
    header_.fields.starts_from = address + (from_field ? header_.index_offset : 0);
    header_.fields.start_stride = from_field ? traits_->descriptor_size : 0;
  }

  std::span<const std::byte> bytes_;
  Family family_;
  HeaderView& header_;
  const VersionTraits* traits_ = nullptr;
};

ViewFault read_header(std::span<const std::byte> bytes, std::uint64_t address, Family family, HeaderView& header) {
  return HeaderReader(bytes, family, header).read(address);
}

template <typename Reader>
class Checker {
 public:
  Checker(const Reader& reader, const HeaderView& header) : reader_(reader), header_(header), fields_(header.fields) {}

  ViewFault check() {
    std::uint64_t rows = 0;
    for (std::uint32_t i = 0; i < fields_.count; ++i) {
      const ViewFunction function = reader_.function_at(i);
      if (const ViewProblem problem = check_function(i, function); problem != ViewProblem::None) {
        return {problem, offset_of(i)};
      }
      rows += function.row_count;
      if (rows > fields_.row_count) break;
      if (const ViewFault fault = check_rows(function)) return fault;
    }
    const HeaderFields at(Reader::traits);
    return rows == fields_.row_count ? ViewFault{} : ViewFault{ViewProblem::WrongRowCount, at.fre_count_at()};
  }

 private:
  static constexpr VersionTraits traits = Reader::traits;

  std::uint64_t offset_of(std::uint32_t function) const {
    return header_.index_offset + std::uint64_t{function} * traits.descriptor_size;
  }
  ViewFault fault_at(ViewProblem problem, const std::byte* at) const {
    return {problem, header_.rows_offset + static_cast<std::uint64_t>(at - fields_.rows)};
  }

  ViewProblem check_function(std::uint32_t number, const ViewFunction& function) {
    const std::uint64_t base = fields_.starts_from + number * fields_.start_stride;
    if (wraps(base, function)) return ViewProblem::OutsideAddressSpace;
    // A version 1 or 2 descriptor without rows may point behind the last one.
    const bool nothing_there = !traits.splits_descriptor && function.row_count == 0;
    if (function.first_row == nullptr || (function.rows_at == fields_.rows_size && !nothing_there)) {
      return ViewProblem::OutsideSection;
    }
    if (!is_defined(function)) return ViewProblem::WrongFunctionInfo;
    if (traits.has_repeat_size && (function.info.pc_type() == PcType::Mask) != (function.repeat_size != 0)) {
      return ViewProblem::WrongRepeatSize;
    }
    return check_order(function);
  }

  /// The base and the distance to the start have no common sign, so which way the sum wraps tells on the start alone.
  bool wraps(std::uint64_t base, const ViewFunction& function) const {
    const auto distance = static_cast<std::int64_t>(function.start - base);
    const bool start_wraps = distance < 0 ? function.start >= base : function.start < base;
    return start_wraps || function.start + function.size < function.start;
  }

  bool is_defined(const ViewFunction& function) const {
    const unsigned row_type = function.info.fre_type() - traits.first_fre_type;
    const unsigned descriptor_type = function.info2.fde_type();
    return row_type <= static_cast<unsigned>(FreAddressWidth::Four) &&
           (function.info.byte() & traits.reserved_fde_info) == 0 &&
           (!function.info.b_key() || fields_.abi->signs_return_address) && !function.info2.reserved_bits_set() &&
           descriptor_type <= static_cast<unsigned>(FdeType::Flexible) && function.padding == 0;
  }

  ViewProblem check_order(const ViewFunction& function) {
    if ((fields_.flags & flag::sorted) == 0) return ViewProblem::None;
    if (function.start < last_start_) return ViewProblem::NotSorted;
    last_start_ = function.start;
    // Functions of no bytes hold no pc.
    if (function.size == 0) return ViewProblem::None;
    const bool overlaps = function.start - before_.start < before_.size;
    before_ = function;
    return overlaps ? ViewProblem::Overlap : ViewProblem::None;
  }

  ViewFault check_rows(const ViewFunction& function) const {
    return Reader::with_start_type(function, ViewFault{},
                                   [&](auto start) { return check_rows_of<decltype(start)>(function); });
  }

  template <std::unsigned_integral Start>
  ViewFault check_rows_of(const ViewFunction& function) const {
    const std::byte* at = function.first_row;
    ViewFre row;
    for (std::uint32_t i = 0; i < function.row_count; ++i, at = row.next) {
      const std::uint32_t before = row.start;
      if (!reader_.template read_row<Start>(at, row)) return fault_at(ViewProblem::WrongRowInfo, at);
      // One at the end covers nothing: GNU as writes it for a CFI directive behind the last instruction.
      const bool outside =
          row.start > function.size || (function.repeat_size != 0 && row.start >= function.repeat_size);
      if (outside || (i != 0 && row.start <= before)) return fault_at(ViewProblem::WrongRowStart, at);
      if (row.info.mangled_ra() && !(traits.has_mangled_ra && fields_.abi->signs_return_address)) {
        return fault_at(ViewProblem::WrongRowInfo, at);
      }
      UnwindRow rules;
      if (reader_.rules_of(function, row, rules) == RowState::Damaged) {
        return fault_at(ViewProblem::WrongRowWords, row.words);
      }
    }
    return {};
  }

  const Reader& reader_;
  const HeaderView& header_;
  const detail::ViewFields& fields_;
  std::uint64_t last_start_ = 0;
  ViewFunction before_;
};

/// Sections are padded to their alignment; anything but zeros would be data that no field accounts for.
ViewFault check_padding(std::span<const std::byte> bytes, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t i = begin; i < end; ++i) {
    if (bytes.data()[i] != std::byte{0}) return {ViewProblem::StrayBytes, i};
  }
  return {};
}

/// Checks every descriptor and row of a section whose header is sound. It refuses what decode() refuses, but for
/// overlaps of an unsorted index, which cannot be found without memory.
ViewFault check_section(std::span<const std::byte> bytes, const HeaderView& header) {
  if (const ViewFault fault = check_padding(bytes, header.end, header.index_offset)) return fault;
  if (const ViewFault fault = check_padding(bytes, header.index_end, header.rows_offset)) return fault;
  if (const ViewFault fault = check_padding(bytes, header.rows_end, bytes.size())) return fault;
  return with_reader(header.fields, [&](const auto& reader) { return Checker(reader, header).check(); });
}

}  // namespace

ViewFault SectionView::open(std::span<const std::byte> bytes, std::uint64_t address, Family family,
                            ViewCheck check) noexcept {
  fields_ = {};
  HeaderView header;
  if (const ViewFault fault = read_header(bytes, address, family, header)) return fault;
  if (check == ViewCheck::Everything) {
    if (const ViewFault fault = check_section(bytes, header)) return fault;
  }
  fields_ = header.fields;
  return {};
}

const char* text_of(ViewProblem problem) noexcept {
  switch (problem) {
    case ViewProblem::None:
      return "sound";
    case ViewProblem::TooShort:
      return "it is shorter than its header";
    case ViewProblem::NoMagic:
      return "it has not the magic number";
    case ViewProblem::UnknownVersion:
      return "its version is not known";
    case ViewProblem::UnknownFlags:
      return "it has flags that its version does not define";
    case ViewProblem::WrongAbi:
      return "its ABI is not known, or of the other byte order";
    case ViewProblem::WrongFixedOffset:
      return "a fixed offset is not its ABI's";
    case ViewProblem::OutsideSection:
      return "a part of it lies outside, or over another";
    case ViewProblem::TooManyRows:
      return "it claims more rows than any program has";
    case ViewProblem::StrayBytes:
      return "it has bytes that belong to neither the index nor the rows";
    case ViewProblem::OutsideAddressSpace:
      return "a function lies outside the address space";
    case ViewProblem::WrongFunctionInfo:
      return "a function's info is not defined";
    case ViewProblem::WrongRepeatSize:
      return "a function's repeat size contradicts its type";
    case ViewProblem::WrongRowCount:
      return "the functions do not have as many rows as the header says";
    case ViewProblem::WrongRowStart:
      return "a row starts before the one in front of it, or behind its function";
    case ViewProblem::WrongRowInfo:
      return "a row's info is not defined";
    case ViewProblem::WrongRowWords:
      return "a row's words are not defined";
    case ViewProblem::NotSorted:
      return "the index is not sorted, but flagged so";
    case ViewProblem::Overlap:
      return "two functions overlap";
  }
  return "";
}

}  // namespace sframe_gen::sframe
