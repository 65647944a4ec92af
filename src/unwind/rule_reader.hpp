#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/fields.hpp"
#include "unwind/view_records.hpp"

namespace sframe_gen::sframe {

/// From a row's words to its rules.
template <Version number, bool swap>
class RuleReader {
 public:
  explicit RuleReader(const AbiTraits& abi) : abi_(abi) {}

  RowState rules_of(const ViewFunction& function, const ViewFre& fre, UnwindRow& row) const {
    if (fre.info.word_count() == 0) return traits.has_repeat_size ? RowState::Outermost : RowState::Damaged;
    row.mangled_ra = fre.info.mangled_ra();
    row.b_key = function.info.b_key();
    row.signal_frame = traits.marks_signal_frames && function.info.signal_frame();
    // What a row does not say.
    row.return_address = abi_.fixed_ra_offset != 0 ? UnwindRule{UnwindRule::cfa, abi_.fixed_ra_offset, true}
                                                   : UnwindRule{abi_.return_address, 0, false};
    row.frame_pointer = {abi_.frame_pointer, 0, false};
    Words<swap> words(fre);
    const bool sound = function.is_flexible() ? read_flexible(words, row) : read_default(words, fre.info, row);
    return sound ? RowState::Rules : RowState::Damaged;
  }

 private:
  static constexpr VersionTraits traits = traits_of(number);

  /// The CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
  bool read_cfa_offset(Words<swap>& words, std::int32_t& offset) const {
    const std::int64_t wide = sframe::cfa_offset_of_word(words.next_signed(), abi_);
    offset = static_cast<std::int32_t>(wide);
    return wide == offset;
  }

  /// An FP or RA word of a default row: an offset from the CFA, or on s390x up to version 2 the register whose number
  /// is in the word's upper bits.
  bool read_saved_where(std::int32_t word, UnwindRule& rule) const {
    const bool register_words = traits.has_register_words && abi_.abi == Abi::S390x;
    if (register_words && (word & 1) != 0) {
      if (word < 0) return false;
      rule = {static_cast<std::uint32_t>(word) >> 1U, 0, false};
      return true;
    }
    rule = {UnwindRule::cfa, word, true};
    return true;
  }

  /// CFA, then where the ABI tracks it the RA, then the FP (3.1); CTF Frame has the FP before the RA.
  bool read_default(Words<swap>& words, FreInfo info, UnwindRow& row) const {
    if (words.left() > (abi_.tracks_return_address ? 3U : 2U)) return false;
    row.cfa = {info.base_is_sp() ? abi_.stack_pointer : abi_.frame_pointer, 0, false};
    if (!read_cfa_offset(words, row.cfa.offset)) return false;
    if (traits.frame_pointer_first && words.left() != 0 && !read_saved_where(words.next_signed(), row.frame_pointer)) {
      return false;
    }
    if (abi_.tracks_return_address && words.left() != 0) {
      const std::int32_t word = words.next_signed();
      const bool is_padding = word == 0 && abi_.pads_return_address;
      if (!is_padding && !read_saved_where(word, row.return_address)) return false;
    }
    return words.left() == 0 || read_saved_where(words.next_signed(), row.frame_pointer);
  }

  /// A control word and its offset, or the one word 0 that stands for both where there is no rule (3.2), which leaves
  /// `rule` as it is and `present` false.
  bool read_rule(Words<swap>& words, bool is_cfa, UnwindRule& rule, bool& present) const {
    const ControlWord control(words.next_unsigned());
    present = !control.is_padding();
    if (!present) return true;
    const bool stray_register = !control.register_based() && control.register_number() != 0;
    if (control.reserved_bit_set() || stray_register || words.left() == 0) return false;
    rule.base = control.register_based() ? control.register_number() : UnwindRule::cfa;
    rule.dereferenced = control.dereferenced();
    if (is_cfa) return control.register_based() && read_cfa_offset(words, rule.offset);
    rule.offset = words.next_signed();
    return true;
  }

  bool read_flexible(Words<swap>& words, UnwindRow& row) const {
    bool ends_in_rule = false;
    if (!read_rule(words, true, row.cfa, ends_in_rule) || !ends_in_rule) return false;
    if (words.left() != 0 && !read_rule(words, false, row.return_address, ends_in_rule)) return false;
    if (words.left() != 0 && !read_rule(words, false, row.frame_pointer, ends_in_rule)) return false;
    // Padding only keeps the place of an RA rule before an FP rule.
    return words.left() == 0 && ends_in_rule;
  }

  const AbiTraits& abi_;
};

}  // namespace sframe_gen::sframe
