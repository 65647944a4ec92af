#include "unwind/section_check.hpp"

#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
namespace {

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
    switch (function.info.fre_type() - traits.first_fre_type) {
      case static_cast<unsigned>(FreAddressWidth::One):
        return check_rows_of<std::uint8_t>(function);
      case static_cast<unsigned>(FreAddressWidth::Two):
        return check_rows_of<std::uint16_t>(function);
      default:
        return check_rows_of<std::uint32_t>(function);
    }
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

}  // namespace

ViewFault check_section(std::span<const std::byte> bytes, const HeaderView& header) {
  if (const ViewFault fault = check_padding(bytes, header.end, header.index_offset)) return fault;
  if (const ViewFault fault = check_padding(bytes, header.index_end, header.rows_offset)) return fault;
  if (const ViewFault fault = check_padding(bytes, header.rows_end, bytes.size())) return fault;
  return with_reader(header.fields, [&](const auto& reader) { return Checker(reader, header).check(); });
}

}  // namespace sframe_gen::sframe
