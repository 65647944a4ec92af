#include "sframe/recovery_decoder.hpp"

#include <string>

#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// The words of one row, front to back.
class WordReader {
 public:
  WordReader(ByteReader& reader, RowInfo info)
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

Rule saved_at_cfa(std::int32_t offset) {
  return {.base_register = std::nullopt, .offset = offset, .dereferenced = true};
}

/// CFA, then where the ABI tracks it the RA, then the FP, each an offset (3.1).
Recovery decode_default(WordReader& words, RowInfo info, const AbiTraits& traits) {
  const unsigned most = traits.tracks_return_address ? 3 : 2;
  if (words.left() > most) {
    words.fail(words.offset(), "row has " + count_of(words.left(), "data word") +
                                   ", but a default descriptor has 1 to " + std::to_string(most));
  }
  Recovery recovery;
  recovery.cfa.base_register = info.base_is_sp() ? traits.stack_pointer : traits.frame_pointer;
  recovery.cfa.offset = words.offset_word("CFA offset");
  if (traits.tracks_return_address && words.left() != 0) {
    recovery.return_address = saved_at_cfa(words.offset_word("RA offset"));
  }
  if (words.left() != 0) recovery.frame_pointer = saved_at_cfa(words.offset_word("FP offset"));
  return recovery;
}

/// A control word and its offset, or the one word 0 that stands for both where there is no rule (3.2).
std::optional<Rule> decode_rule(WordReader& words, const std::string& name) {
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
  rule.offset = words.offset_word("offset word");
  return rule;
}

Recovery decode_flexible(WordReader& words) {
  const std::uint64_t start = words.offset();
  Recovery recovery;
  const std::optional<Rule> cfa = decode_rule(words, "CFA");
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

std::optional<Recovery> decode_recovery(ByteReader& reader, RowInfo info, DescriptorType type,
                                        const AbiTraits& traits) {
  if (info.word_count() == 0) return std::nullopt;
  WordReader words(reader, info);
  Recovery recovery = type == DescriptorType::Flexible ? decode_flexible(words) : decode_default(words, info, traits);
  recovery.mangled_ra = info.mangled_ra();
  return recovery;
}

}  // namespace sframe_gen::sframe
