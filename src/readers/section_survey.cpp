#include "readers/section_survey.hpp"

#include <algorithm>
#include <string>

#include "readers/header_survey.hpp"
#include "readers/row_survey.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

// As for the decoder: functions that share rows could ask for billions of them.
constexpr std::uint64_t rows_always_allowed = 1U << 20U;
constexpr std::uint64_t rows_allowed_per_byte = 4;

class SectionSurvey {
 public:
  SectionSurvey(const SurveyedHeader& header, std::uint64_t address, Findings& findings)
      : header_(header), fields_(header.fields), address_(address), findings_(findings) {}

  std::vector<CodePlace> run(bool is_object) {
    const std::uint64_t most_rows = std::max(rows_always_allowed, rows_allowed_per_byte * fields_.size());
    bool complete = true;
    for (std::uint32_t i = 0; i < header_.function_count && complete; ++i) {
      survey_function(i);
      complete = rows_ <= most_rows;
    }
    const sframe::HeaderFields places(*header_.version);
    if (!complete)
      findings_.add(Fact::TooManyRows, places.fre_count_at(), "its descriptors claim more rows than it has");
    if (complete && followed_ && rows_ != header_.row_count)
      findings_.add(Fact::RowCount, places.fre_count_at(),
                    "number of rows is " + std::to_string(header_.row_count) + ", but the functions have " +
                        std::to_string(rows_));
    survey_sharing();
    // Relocations have yet to say where an object's are.
    if (!is_object) survey_order();
    return std::move(places_);
  }

 private:
  void add(Fact fact, std::uint64_t offset, std::uint32_t function, const std::string& text) {
    findings_.add(fact, offset, "descriptor " + std::to_string(function + 1) + ' ' + text);
  }

  std::uint64_t entry_of(std::uint32_t function) const {
    return header_.index + std::uint64_t{function} * header_.version->descriptor_size;
  }

  std::uint64_t start_of(std::uint64_t entry) const {
    const bool wide = header_.version->start_size == 8;
    const auto distance = wide ? static_cast<std::int64_t>(fields_.u64(entry))
                               : std::int64_t{static_cast<std::int32_t>(fields_.u32(entry))};
    const bool from_field = (header_.flags & sframe::flag::function_start_pc_relative) != 0;
    return address_ + (from_field ? entry : 0) + static_cast<std::uint64_t>(distance);
  }

  void survey_function(std::uint32_t number) {
    const std::uint64_t entry = entry_of(number);
    const std::uint64_t size_at = entry + header_.version->start_size;
    SurveyedFunction function{};
    function.number = number;
    function.start = start_of(entry);
    function.size = fields_.u32(size_at);
    function.begin = header_.rows + fields_.u32(size_at + 4);
    places_.push_back({function.start, function.size, entry, header_.version->start_size});
    const bool has_rows = read_attribute(entry, size_at + 4, function);
    if (!has_rows) {
      followed_ = false;
      return;
    }
    rows_ += function.row_count;
    const std::uint64_t end = survey_rows(header_, function, findings_);
    followed_ = followed_ && end != 0;
    if (end > function.begin) blocks_.push_back({function.begin, end, number});
  }

  /// False: its rows cannot be found.
  bool read_attribute(std::uint64_t entry, std::uint64_t rows_field, SurveyedFunction& function) {
    const bool split = header_.version->splits_descriptor;
    constexpr std::uint64_t attribute_size = 5;
    const std::uint64_t needed = split ? attribute_size : 0;
    if (function.begin > header_.rows_end || header_.rows_end - function.begin < needed) {
      add(Fact::FunctionRowsOutside, rows_field, function.number, "has rows outside the section's");
      return false;
    }
    const std::uint64_t info_at = split ? function.begin + sframe::fde_attribute::info_at : entry + 16;
    function.row_count = split ? fields_.u16(function.begin) : fields_.u32(entry + 12);
    function.rows = function.begin + needed;
    if (split) {
      read_type(function.begin + sframe::fde_attribute::info2_at, function);
      function.repeat_size = fields_.u8(function.begin + sframe::fde_attribute::repeat_size_at);
    } else if (header_.version->has_repeat_size) {
      function.repeat_size = fields_.u8(entry + 17);
      if (fields_.u16(entry + 18) != 0)
        add(Fact::ReservedBits, entry + 18, function.number, "has padding that is not 0");
    }
    return read_info(info_at, function);
  }

  bool read_info(std::uint64_t at, SurveyedFunction& function) {
    const sframe::FdeInfo info(fields_.u8(at));
    if (info.fre_type() > static_cast<unsigned>(sframe::FreAddressWidth::Four)) {
      add(Fact::UndefinedRowType, at, function.number, "has rows of an undefined type");
      return false;
    }
    function.start_width = 1U << info.fre_type();
    function.pc_type = info.pc_type();
    if ((info.byte() & header_.version->reserved_fde_info) != 0)
      add(Fact::ReservedBits, at, function.number, "has reserved bits set");
    if (info.b_key() && !header_.abi->signs_return_address)
      add(Fact::StrayKey, at, function.number, "names a signing key, which this ABI has not");
    if (header_.version->has_repeat_size && info.pc_type() == sframe::PcType::Mask && function.repeat_size == 0)
      add(Fact::NoRepeatSize, at, function.number, "repeats a block of no bytes");
    return true;
  }

  void read_type(std::uint64_t at, SurveyedFunction& function) {
    const sframe::FdeInfo2 info2(fields_.u8(at));
    if (info2.fde_type() > static_cast<unsigned>(sframe::FdeType::Flexible))
      add(Fact::UndefinedType, at, function.number, "is of an undefined type");
    if (info2.reserved_bits_set()) add(Fact::ReservedBits, at, function.number, "has reserved bits set");
    const bool flexible = info2.fde_type() == static_cast<unsigned>(sframe::FdeType::Flexible);
    function.type = flexible ? sframe::FdeType::Flexible : sframe::FdeType::Default;
  }

  void survey_sharing() {
    std::ranges::sort(blocks_, {}, &Block::begin);
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (blocks_[i].begin >= blocks_[i - 1].end) continue;
      const std::uint32_t second = std::max(blocks_[i].function, blocks_[i - 1].function);
      return add(Fact::SharedRows, entry_of(second), second, "shares rows with another one");
    }
  }

  void survey_order() {
    const bool flagged = (header_.flags & sframe::flag::sorted) != 0;
    for (std::uint32_t i = 1; i < places_.size() && flagged; ++i) {
      const CodePlace &before = places_[i - 1], &place = places_[i];
      if (place.start < before.start) {
        add(Fact::NotSorted, entry_of(i), i, "comes after one with a higher start");
      } else if (place.start == before.start) {
        add(Fact::EqualStarts, entry_of(i), i, "starts where the one before it does");
      } else if (place.start - before.start < before.size) {
        add(Fact::Overlap, entry_of(i), i, "overlaps the one before it");
      }
    }
  }

  struct Block {
    std::uint64_t begin, end;  ///< offsets in the section
    std::uint32_t function;
  };

  const SurveyedHeader& header_;
  const Fields& fields_;
  std::uint64_t address_;
  Findings& findings_;
  std::vector<CodePlace> places_;
  std::vector<Block> blocks_;
  std::uint64_t rows_ = 0;
  bool followed_ = true;  ///< all rows were found
};

}  // namespace

std::optional<std::vector<CodePlace>> survey_section(std::span<const std::byte> bytes, std::uint64_t address,
                                                     const sframe::AbiTraits& abi, bool is_object, Findings& findings) {
  const std::optional<SurveyedHeader> header = survey_header(bytes, abi, findings);
  if (!header) return std::nullopt;
  return SectionSurvey(*header, address, findings).run(is_object);
}

}  // namespace sframe_gen::readers
