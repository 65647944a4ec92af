#include "readers/row_survey.hpp"

#include <string>

#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

using sframe::DataWordWidth;
using sframe::FdeType;
using sframe::PcType;

class RowSurvey {
 public:
  RowSurvey(const SurveyedHeader& header, const SurveyedFunction& function, Findings& findings)
      : header_(header), function_(function), findings_(findings) {}

  std::uint64_t run() {
    std::uint64_t at = function_.rows;
    for (number_ = 0; number_ < function_.row_count; ++number_) {
      at = survey_row(at);
      if (at == 0) return 0;
    }
    return at;
  }

 private:
  void add(Fact fact, std::uint64_t offset, const std::string& text) {
    findings_.add(
        fact, offset,
        "row " + std::to_string(number_ + 1) + " of descriptor " + std::to_string(function_.number + 1) + ' ' + text);
  }

  /// Returns where the next one is, or 0.
  std::uint64_t survey_row(std::uint64_t at) {
    if (header_.rows_end - at < function_.start_width + 1U) {
      add(Fact::RowOutside, at, "lies outside the rows");
      return 0;
    }
    survey_start(at);
    const std::uint64_t info_at = at + function_.start_width;
    const sframe::FreInfo info(header_.fields.u8(info_at));
    if (info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) {
      add(Fact::UndefinedWordSize, info_at, "has data words of an undefined size");
      return 0;
    }
    const std::uint64_t words = info_at + 1;
    const std::uint64_t size = std::uint64_t{info.word_count()} << info.word_width();
    if (header_.rows_end - words < size) {
      add(Fact::RowOutside, at, "ends outside the rows");
      return 0;
    }
    survey_words(info, info_at);
    return words + size;
  }

  void survey_start(std::uint64_t at) {
    const std::uint32_t start = header_.fields.number(at, function_.start_width);
    const bool masks = function_.pc_type == PcType::Mask;
    if (number_ != 0 && start <= before_) add(Fact::RowNotAscending, at, "does not start after the row before it");
    if (start > function_.size && !masks) add(Fact::RowBeyondFunction, at, "starts behind the function's end");
    if (start == function_.size && !masks) add(Fact::RowAtEnd, at, "starts at the function's end");
    if (masks && function_.repeat_size != 0 && start >= function_.repeat_size)
      add(Fact::RowBeyondBlock, at, "starts behind the repeated block");
    before_ = start;
  }

  void survey_words(sframe::FreInfo info, std::uint64_t at) {
    const sframe::AbiTraits& abi = *header_.abi;
    constexpr unsigned most_words = 6;
    const bool flexible = function_.type == FdeType::Flexible;
    if (info.mangled_ra() && !abi.signs_return_address)
      add(Fact::StraySignature, at, "says that the return address is signed, which this ABI has not");
    if (info.word_count() == 0) return add(Fact::NoWords, at, "has no data words");
    if (info.word_count() > most_words) return add(Fact::RowTooLong, at, "has more data words than any form");
    if (flexible) return survey_flexible(info, at);
    const unsigned most = abi.tracks_return_address ? 3 : 2;
    if (info.word_count() > most) add(Fact::SpareWords, at, "has more data words than a default descriptor's");
  }

  /// Pairs of a control word and an offset; the word 0 stands for both where there is no rule.
  void survey_flexible(sframe::FreInfo info, std::uint64_t at) {
    const unsigned width = 1U << info.word_width();
    const auto word = [&](unsigned i) {
      return sframe::ControlWord(header_.fields.number(at + 1 + std::uint64_t{i} * width, width));
    };
    if (word(0).reserved_bit_set()) add(Fact::ReservedBits, at, "has reserved bits set in a control word");
    if (!word(0).register_based() || info.word_count() == 1)
      return add(Fact::BadFlexible, at, "has no CFA that is based on a register");
    unsigned i = 2, rules = 1;
    bool ends_in_rule = true;
    for (; i < info.word_count() && rules < 3; ++rules) {
      const sframe::ControlWord control = word(i);
      ends_in_rule = !control.is_padding();
      i += ends_in_rule ? 2 : 1;
      const bool stray = !control.register_based() && control.register_number() != 0;
      if (control.reserved_bit_set() || stray) add(Fact::ReservedBits, at, "has reserved bits set in a control word");
    }
    if (i != info.word_count() || !ends_in_rule) add(Fact::BadFlexible, at, "has data words that make no whole rules");
  }

  const SurveyedHeader& header_;
  const SurveyedFunction& function_;
  Findings& findings_;
  std::uint32_t number_ = 0;
  std::uint32_t before_ = 0;  ///< start of the row before
};

}  // namespace

std::uint64_t survey_rows(const SurveyedHeader& header, const SurveyedFunction& function, Findings& findings) {
  return RowSurvey(header, function, findings).run();
}

}  // namespace sframe_gen::readers
