#include "unwind/header_view.hpp"

#include "sframe/format.hpp"
#include "support/endian.hpp"
#include "unwind/facts.hpp"

namespace sframe_gen::sframe {
namespace {

// As the decoder: functions may share one block of rows, so a few kilobytes could ask for billions of checks.
constexpr std::uint64_t rows_always_allowed = 1U << 20U;
constexpr std::uint64_t rows_allowed_per_byte = 4;

const VersionTraits* find_version(std::uint8_t number, Family family) {
  for (const VersionTraits& candidate : detail::version_table) {
    const bool is_ctf = candidate.version == Version::CtfFrame;
    if (candidate.number == number && is_ctf == (family == Family::CtfFrame)) return &candidate;
  }
  return nullptr;
}

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
    const AbiTraits* const abi = facts_of(byte_at(header::abi_at));
    if (abi == nullptr || abi->endian != header_.fields.endian || (abi->abi == Abi::S390x && !traits_->has_s390x)) {
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
    const std::uint64_t most = rows_allowed_per_byte * bytes_.size();
    if (header_.fields.row_count > (most < rows_always_allowed ? rows_always_allowed : most)) {
      return {ViewProblem::TooManyRows, at.fre_count_at()};
    }
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

}  // namespace

ViewFault read_header(std::span<const std::byte> bytes, std::uint64_t address, Family family, HeaderView& header) {
  return HeaderReader(bytes, family, header).read(address);
}

}  // namespace sframe_gen::sframe
