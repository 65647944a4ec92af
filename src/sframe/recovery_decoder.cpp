#include "sframe/recovery_decoder.hpp"

#include <string>

#include "sframe/abi.hpp"
#include "sframe/cfa_offset.hpp"
#include "sframe/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// The words of one row, front to back.
class WordReader {
 public:
  WordReader(ByteReader& reader, FreInfo info)
      : reader_(&reader), left_(info.word_count()), width_(static_cast<DataWordWidth>(info.word_width())) {}

  unsigned left() const { return left_; }
  /// Offset in the section of the next word.
  std::uint64_t offset() const { return reader_->offset(); }

  std::int32_t offset_word(const char* what) {
    --left_;
    switch (width_) {
      case DataWordWidth::One:
        return reader_->i8(what);
      case DataWordWidth::Two:
        return reader_->i16(what);
      case DataWordWidth::Four:
        return reader_->i32(what);
    }
    return 0;
  }

  /// Control words are unsigned: the register number fills them to the top (3.2).
  ControlWord control_word(const char* what) {
    --left_;
    switch (width_) {
      case DataWordWidth::One:
        return ControlWord(reader_->u8(what));
      case DataWordWidth::Two:
        return ControlWord(reader_->u16(what));
      case DataWordWidth::Four:
        return ControlWord(reader_->u32(what));
    }
    return ControlWord(0);
  }

  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const { reader_->fail(offset, what); }

 private:
  ByteReader* reader_;
  unsigned left_;
  DataWordWidth width_;
};

/// The CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
std::int32_t cfa_offset(WordReader& words, const AbiTraits& abi) {
  const std::uint64_t at = words.offset();
  const std::int64_t offset = cfa_offset_of_word(words.offset_word("CFA offset"), abi);
  if (offset != static_cast<std::int32_t>(offset)) {
    words.fail(at, "CFA offset " + std::to_string(offset) + " does not fit in 32 bits");
  }
  return static_cast<std::int32_t>(offset);
}

/// Where an FP or RA word of a default row says the value is: at an offset from the CFA, or on s390x up to version 2,
/// whose rows have no other way to say it, in the register whose number is in the word's upper bits.
/// The word is at `start`.
Rule saved_where(std::int32_t word, const WordReader& words, std::uint64_t start, const DecodingRules& rules) {
  const bool register_words = rules.abi.abi == Abi::S390x && rules.version.has_register_words;
  if (register_words && (word & 1) != 0) {
    if (word < 0) words.fail(start, "offset " + std::to_string(word) + " is odd, but names no register");
    return {.base_register = static_cast<std::uint32_t>(word) >> 1U, .offset = 0, .dereferenced = false};
  }
  return {.base_register = std::nullopt, .offset = word, .dereferenced = true};
}

/// CFA, then where the ABI tracks it the RA, then the FP, each an offset (3.1); CTF Frame has the FP before the RA.
RecoveryRules decode_default(WordReader& words, FreInfo info, const DecodingRules& rules) {
  const AbiTraits& abi = rules.abi;
  const unsigned most = abi.tracks_return_address ? 3 : 2;
  if (words.left() > most) {
    words.fail(words.offset(), "row has " + count_of(words.left(), "data word") +
                                   ", but a default descriptor has 1 to " + std::to_string(most));
  }
  RecoveryRules recovery;
  recovery.cfa.base_register = info.base_is_sp() ? abi.stack_pointer : abi.frame_pointer;
  recovery.cfa.offset = cfa_offset(words, abi);
  const auto read_frame_pointer = [&] {
    if (words.left() == 0) return;
    const std::uint64_t start = words.offset();
    recovery.frame_pointer = saved_where(words.offset_word("FP offset"), words, start, rules);
  };
  if (rules.version.frame_pointer_first) read_frame_pointer();
  if (abi.tracks_return_address && words.left() != 0) {
    const std::uint64_t start = words.offset();
    const std::int32_t word = words.offset_word("RA offset");
    if (word != 0 || !abi.pads_return_address) recovery.return_address = saved_where(word, words, start, rules);
  }
  read_frame_pointer();
  return recovery;
}

/// A control word and its offset, or the one word 0 that stands for both where there is no rule (3.2). `cfa_abi` is
/// given for the CFA's rule, whose offset the ABI may store in a way of its own.
std::optional<Rule> decode_rule(WordReader& words, const std::string& name, const AbiTraits* cfa_abi = nullptr) {
  const std::uint64_t start = words.offset();
  const ControlWord control = words.control_word("control word");
  if (control.is_padding()) return std::nullopt;
  const std::string shown = name + " control word " + hex(control.word());
  if (control.reserved_bit_set()) words.fail(start, shown + " has the reserved bit set");
  if (!control.register_based() && control.register_number() != 0) {
    words.fail(start, shown + " names a register, but is not based on one");
  }
  if (words.left() == 0) words.fail(start, shown + " has no offset word behind it");
  Rule rule;
  if (control.register_based()) rule.base_register = control.register_number();
  rule.dereferenced = control.dereferenced();
  rule.offset = cfa_abi != nullptr ? cfa_offset(words, *cfa_abi) : words.offset_word("offset word");
  return rule;
}

RecoveryRules decode_flexible(WordReader& words, const AbiTraits& abi) {
  const std::uint64_t start = words.offset();
  RecoveryRules recovery;
  const std::optional<Rule> cfa = decode_rule(words, "CFA", &abi);
  if (!cfa || !cfa->base_register) words.fail(start, "CFA rule of a flexible row has no base register");
  recovery.cfa = *cfa;
  if (words.left() == 0) return recovery;

  std::uint64_t last_start = words.offset();
  recovery.return_address = decode_rule(words, "RA");
  bool ends_in_rule = recovery.return_address.has_value();
  if (words.left() != 0) {
    last_start = words.offset();
    recovery.frame_pointer = decode_rule(words, "FP");
    ends_in_rule = recovery.frame_pointer.has_value();
  }
  if (words.left() != 0) {
    words.fail(words.offset(), count_of(words.left(), "data word") + " left over behind the rules of a flexible row");
  }
  // Padding only keeps the place of an RA rule before an FP rule; at the end, words and word count disagree.
  if (!ends_in_rule) words.fail(last_start, "flexible row ends in a padding word");
  return recovery;
}

}  // namespace

std::optional<RecoveryRules> decode_recovery(ByteReader& reader, FreInfo info, FdeType type,
                                             const DecodingRules& rules) {
  if (info.word_count() == 0) return std::nullopt;
  WordReader words(reader, info);
  RecoveryRules recovery =
      type == FdeType::Flexible ? decode_flexible(words, rules.abi) : decode_default(words, info, rules);
  recovery.mangled_ra = info.mangled_ra();
  return recovery;
}

}  // namespace sframe_gen::sframe
