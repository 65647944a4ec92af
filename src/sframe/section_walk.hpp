#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "sframe/format.hpp"
#include "sframe/parser.hpp"

namespace sframe_gen::sframe {

/// Is told of everything in a section.
template <typename T>
concept SectionVisitor = requires(T visitor, const Fault& fault, const FdeFields& fde, const FreFields& fre,
                                  const RecoveryRules* rules, const std::byte* end) {
  { visitor.fault(fault) } -> std::same_as<bool>;     // true: go on
  { visitor.function(fde) } -> std::same_as<void>;    // before its rows
  { visitor.row(fre, rules) } -> std::same_as<void>;  // null: it has no rules that can be read
  { visitor.end(fde, end) } -> std::same_as<void>;    // after its last row; not if a row cannot be followed
};

/// Goes through a section once, from descriptor to descriptor, and checks all of it. Only overlaps in an index that is
/// not flagged as sorted are not found, which would take memory.
template <SectionVisitor Visitor>
class SectionWalk {
 public:
  /// The index and the beginning of the rows are inside the section.
  SectionWalk(const Header& header, Visitor& visitor)
      : header_(header), fields_(header.fields), reader_(header.fields), visitor_(visitor) {}

  /// Returns whether the visitor let it go to the end.
  bool run() {
    // Sections are padded to their alignment; anything but zeros would be data that no field accounts for.
    if (!check_gap(header_.end, header_.index_begin) || !check_gap(header_.index_end, header_.rows_begin) ||
        !check_gap(header_.rows_end, header_.bytes.size()))
      return false;
    const std::byte* const count_at = header_.bytes.data() + HeaderFields(reader_.version()).fre_count_at();
    std::uint64_t rows = 0;
    for (function_ = 0; function_ < fields_.count; ++function_) {
      const FdeFields fde = reader_.fde_at(function_);
      if (!walk_function(fde)) return false;
      rows += fde.row_count;
      const bool is_last = function_ + 1 == fields_.count;
      if (rows > fields_.row_count && !is_last && !fault(Problem::MoreRows, count_at, {fields_.row_count, rows}))
        return false;
      if (rows > most_rows(header_.bytes.size()))
        return fault(Problem::TooManyRows, count_at, {fields_.row_count, rows});
    }
    const bool is_known = followed_ && rows != fields_.row_count;
    return !is_known || fault(Problem::RowCount, count_at, {fields_.row_count, rows});
  }

 private:
  bool fault(Fault fault) {
    fault.function = function_;
    fault.row = row_;
    return visitor_.fault(fault);
  }
  bool fault(Problem problem, const std::byte* at, std::array<std::uint64_t, 3> values, const char* what = "") {
    return fault(Fault{problem, at, values, what});
  }
  bool lost(Problem problem, const std::byte* at, std::array<std::uint64_t, 3> values, const char* what = "") {
    followed_ = false;
    return fault(problem, at, values, what);
  }

  bool check_gap(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (header_.bytes[i] == std::byte{0}) continue;
      return fault(Problem::StrayBytes, &header_.bytes[i], {std::to_integer<std::uint8_t>(header_.bytes[i])});
    }
    return true;
  }

  bool walk_function(const FdeFields& fde) {
    row_ = 0;
    if (!check_place(fde)) return false;
    const bool split = reader_.version().splits_descriptor;
    if (!split && !check_info(fde, fde.entry + fde_entry::info_at)) return false;
    // A descriptor of versions 1 and 2 without rows may point after the last one.
    const bool nothing_there = !split && fde.row_count == 0;
    const bool outside = fde.rows_at > fields_.rows_size || (fde.rows_at == fields_.rows_size && !nothing_there);
    if (outside &&
        !lost(Problem::FunctionRowsOutside, fde.entry + reader_.rows_field_at(), {fde.rows_at, fields_.rows_size}))
      return false;
    if (split && !outside && fde.first_row == nullptr && !cut_attribute(fields_.rows + fde.rows_at)) return false;
    if (split && fde.first_row != nullptr &&
        !check_info(fde, fde.first_row - fde_attribute::size + fde_attribute::info_at))
      return false;
    const bool has_rows = !outside && fde.first_row != nullptr && fde.start_width != 0;
    if (has_rows && !check_room(fde)) return false;
    visitor_.function(fde);
    return !has_rows || walk_rows(fde);
  }

  /// The base and the distance to the start have no common sign, so which way the sum wraps tells on the start alone.
  bool check_place(const FdeFields& fde) {
    const std::uint64_t base = reader_.base_of(function_);
    const std::uint64_t distance = fde.start - base;
    const bool wraps = static_cast<std::int64_t>(distance) < 0 ? fde.start >= base : fde.start < base;
    if (wraps && !fault(Problem::StartOutside, fde.entry, {distance, base})) return false;
    if (fde.start + fde.size < fde.start &&
        !fault(Problem::EndOutside, fde.entry + reader_.version().start_size, {fde.start, fde.size}))
      return false;
    if ((fields_.flags & flag::sorted) == 0) return true;
    if (fde.start < last_start_ && !fault(Problem::NotSorted, fde.entry, {fde.start, last_start_})) return false;
    last_start_ = fde.start;
    // Functions of no bytes hold no PC.
    if (fde.size == 0) return true;
    const FdeFields before = before_;
    before_ = fde;
    return fde.start - before.start >= before.size ||
           fault(Problem::Overlap, fde.entry, {fde.start, before.start, before.start + before.size});
  }

  /// The attribute at `at` ends outside the rows.
  bool cut_attribute(const std::byte* at) {
    constexpr const char* fields[]{"number of rows of the function", "", "function info", "function info 2",
                                   "repeat size"};
    const std::uint64_t left = reader_.bytes_from(at);
    if (left < fde_attribute::info_at) return lost(Problem::AttributeCut, at, {2, left}, fields[0]);
    return lost(Problem::AttributeCut, at + left, {1, 0}, fields[left]);
  }

  bool check_info(const FdeFields& fde, const std::byte* at) {
    const VersionTraits& version = reader_.version();
    const FdeInfo info = fde.info;
    if (fde.start_width == 0 && !lost(Problem::UndefinedRowType, at, {info.fre_type()})) return false;
    if ((info.byte() & version.reserved_fde_info) != 0 && !fault(Problem::ReservedInfo, at, {info.byte()}))
      return false;
    if (info.b_key() && !fields_.abi->signs_return_address && !fault(Problem::StrayKey, at, {info.byte()}))
      return false;
    if (version.splits_descriptor) {
      const std::byte* const info2_at = at - fde_attribute::info_at + fde_attribute::info2_at;
      const FdeInfo2 info2 = fde.info2;
      if (info2.reserved_bits_set() && !fault(Problem::ReservedInfo2, info2_at, {info2.byte()})) return false;
      if (info2.fde_type() > static_cast<unsigned>(FdeType::Flexible) &&
          !fault(Problem::UndefinedType, info2_at, {info2.fde_type()}))
        return false;
    }
    if (!version.has_repeat_size) return true;
    const std::byte* const repeat_at =
        version.splits_descriptor ? at - fde_attribute::info_at + fde_attribute::repeat_size_at : at + 1;
    const bool repeats = info.pc_type() == PcType::Mask;
    if (repeats && fde.repeat_size == 0 && !fault(Problem::NoRepeatSize, repeat_at, {})) return false;
    if (!repeats && fde.repeat_size != 0 && !fault(Problem::StrayRepeatSize, repeat_at, {fde.repeat_size}))
      return false;
    if (fde.padding == 0) return true;
    // The section's byte order decides which of the two bytes is which.
    return fault(Problem::Padding, repeat_at + 1, {});
  }

  bool check_room(const FdeFields& fde) {
    const std::uint64_t least = std::uint64_t{fde.row_count} * (fde.start_width + 1U),
                        left = reader_.bytes_from(fde.first_row);
    return least <= left || fault(Problem::TooFewRowBytes, fde.first_row, {fde.row_count, least, left});
  }

  bool walk_rows(const FdeFields& fde) {
    const std::byte* at = fde.first_row;
    FreFields fre;
    for (row_ = 0; row_ < fde.row_count; ++row_, at = fre.next) {
      const std::uint32_t before = fre.start;
      if (!reader_.read_row(fde.start_width, at, fre)) return lose_row(fde, at, fre, before);
      if (!check_start(fde, fre, before, at) || !check_row_info(fre)) return false;
      RecoveryRules rules;
      bool go_on = true;
      const auto faults = [&](const Fault& found) {
        go_on = fault(found);
        return go_on;
      };
      const bool has_rules = fre.info.word_count() != 0 && reader_.read_rules(fde, fre, rules, faults);
      if (!go_on) return false;
      visitor_.row(fre, has_rules ? &rules : nullptr);
    }
    visitor_.end(fde, at);
    return true;
  }

  /// The row at `at` cannot be read, and so none after it.
  bool lose_row(const FdeFields& fde, const std::byte* at, const FreFields& fre, std::uint32_t before) {
    const std::uint64_t left = reader_.bytes_from(at);
    if (left < fde.start_width) return lost(Problem::RowCut, at, {fde.start_width, left}, "row start");
    if (left == fde.start_width) return lost(Problem::RowCut, at + left, {1, 0}, "row info");
    if (!check_start(fde, fre, before, at)) return false;
    const unsigned width = fre.info.word_width();
    if (width > static_cast<unsigned>(DataWordWidth::Four))
      return lost(Problem::UndefinedWordSize, fre.words - 1, {width});
    if (!check_row_info(fre)) return false;
    const std::uint64_t whole = reader_.bytes_from(fre.words) >> width;
    const std::byte* const word = fre.words + (whole << width);
    const char* const what = whole != 0 ? "data word" : fde.is_flexible() ? "control word" : "CFA offset";
    return lost(Problem::RowCut, word, {std::uint64_t{1} << width, reader_.bytes_from(word)}, what);
  }

  bool check_start(const FdeFields& fde, const FreFields& fre, std::uint32_t before, const std::byte* at) {
    const std::uint32_t start = fre.start;
    if (row_ != 0 && start <= before && !fault(Problem::RowNotAscending, at, {start, before})) return false;
    if (start > fde.size && !fault(Problem::RowBeyondFunction, at, {start, fde.size})) return false;
    if (start == fde.size && !fault(Problem::RowAtEnd, at, {start, fde.size})) return false;
    return fde.repeat_size == 0 || start < fde.repeat_size ||
           fault(Problem::RowBeyondBlock, at, {start, fde.repeat_size});
  }

  bool check_row_info(const FreFields& fre) {
    const VersionTraits& version = reader_.version();
    const FreInfo info = fre.info;
    const std::byte* const at = fre.words - 1;
    if (info.mangled_ra() && !version.has_mangled_ra && !fault(Problem::ReservedRowBit, at, {info.byte()}))
      return false;
    if (info.mangled_ra() && !fields_.abi->signs_return_address && !fault(Problem::StraySignature, at, {info.byte()}))
      return false;
    // Version 2 gave it a meaning by its second erratum; before it, the CFA offset is always there.
    return info.word_count() != 0 || version.has_repeat_size || fault(Problem::NoWords, at, {});
  }

  const Header& header_;
  const SectionFields& fields_;
  SectionReader reader_;
  Visitor& visitor_;
  std::uint32_t function_ = 0, row_ = 0;  ///< that are looked at
  bool followed_ = true;                  ///< all rows so far were found
  std::uint64_t last_start_ = 0;
  FdeFields before_;  ///< the last function that has bytes
};

}  // namespace sframe_gen::sframe
