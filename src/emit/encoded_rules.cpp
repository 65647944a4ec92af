#include "emit/encoded_rules.hpp"

#include <cassert>
#include <concepts>
#include <cstring>
#include <stdexcept>
#include <string>

#include "emit/dialect.hpp"

namespace sframe_gen::emit {

namespace {

using sframe::DataWordWidth;

/// One data word and the width it asks for.
struct DataWord {
  std::uint32_t bits = 0;
  DataWordWidth width = DataWordWidth::One;
};

DataWord signed_word(std::int32_t value) {
  const DataWordWidth width = value >= INT8_MIN && value <= INT8_MAX     ? DataWordWidth::One
                              : value >= INT16_MIN && value <= INT16_MAX ? DataWordWidth::Two
                                                                         : DataWordWidth::Four;
  return {static_cast<std::uint32_t>(value), width};
}

/// Control words are unsigned: register 31 still fits one byte.
DataWord control_word(sframe::ControlWord control) {
  const std::uint32_t bits = control.word();
  return {bits, bits <= UINT8_MAX ? DataWordWidth::One : bits <= UINT16_MAX ? DataWordWidth::Two : DataWordWidth::Four};
}

/// A row's words: at most three pairs.
class DataWords {
 public:
  void add(DataWord word) {
    words_[count_++] = word;
    if (word.width > width_) width_ = word.width;
  }
  std::span<const DataWord> words() const { return std::span(words_).first(count_); }
  DataWordWidth width() const { return width_; }

 private:
  std::array<DataWord, 6> words_{};
  std::size_t count_ = 0;
  DataWordWidth width_ = DataWordWidth::One;
};

/// The CFA's offset in the ABI's unit: represent() lets only exact ones through.
DataWord cfa_offset_word(std::int32_t offset, const sframe::AbiTraits& abi) {
  const auto word = sframe::word_of_cfa_offset(offset, abi);
  assert(word);
  return signed_word(*word);
}

/// Where a default row has RA or FP: its distance from the CFA, or a register in the odd words of s390x.
DataWord place_word(const sframe::Rule& rule) {
  if (rule.base_register) return signed_word(static_cast<std::int32_t>(*rule.base_register << 1U | 1U));
  return signed_word(rule.offset);
}

/// Sections 3.1.1 to 3.1.3: CFA, then RA if the ABI tracks it, then FP. A word of 0 keeps the RA's place.
DataWords default_words(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  DataWords words;
  words.add(cfa_offset_word(recovery.cfa.offset, *dialect.abi));
  const auto& return_address = recovery.return_address;
  const auto& frame_pointer = recovery.frame_pointer;
  if (dialect.version->frame_pointer_first) {
    if (frame_pointer) words.add(place_word(*frame_pointer));
    if (return_address) words.add(place_word(*return_address));
    return words;
  }
  if (return_address) {
    words.add(place_word(*return_address));
  } else if (frame_pointer && dialect.abi->tracks_return_address) {
    words.add({});
  }
  if (frame_pointer) words.add(place_word(*frame_pointer));
  return words;
}

void add_pair(DataWords& words, const sframe::Rule& rule, DataWord offset) {
  const auto control = rule.base_register ? sframe::ControlWord::of_register(*rule.base_register, rule.dereferenced)
                                          : sframe::ControlWord::of_cfa(rule.dereferenced);
  assert(!control.is_padding());
  words.add(control_word(control));
  words.add(offset);
}

/// Section 3.2: pairs of control and offset for CFA, RA and FP; one padding word where FP has a rule and RA has none.
DataWords flexible_words(const sframe::RecoveryRules& recovery, const Dialect& dialect) {
  DataWords words;
  add_pair(words, recovery.cfa, cfa_offset_word(recovery.cfa.offset, *dialect.abi));
  if (recovery.return_address) {
    add_pair(words, *recovery.return_address, signed_word(recovery.return_address->offset));
  } else if (recovery.frame_pointer) {
    words.add({});
  }
  if (recovery.frame_pointer) {
    add_pair(words, *recovery.frame_pointer, signed_word(recovery.frame_pointer->offset));
  }
  return words;
}

std::uint64_t hash_of(const EncodedRule& rule) {
  return hash_of_bytes(rule.in_flexible.bytes(), hash_of_bytes(rule.in_default.bytes(), seed_of_run()));
}

/// Each row is a start and a tail, which is copied as long as any can be: rows are written by the million, and the
/// processor copies a fixed length faster than it counts.
template <std::unsigned_integral Start>
std::byte* put_rows_of(std::span<const EncodedRow> rows, std::uint32_t shift, sframe::FdeType type,
                       const EncodedRules& encoded_rules, std::byte* place) {
  const Endian endian = encoded_rules.dialect().abi->endian;
  for (const EncodedRow& row : rows) {
    const RowTail& tail = encoded_rules.tail(row.rule, type);
    store(std::span(place, sizeof(Start)), static_cast<Start>(row.pc_offset + shift), endian);
    std::memcpy(place + sizeof(Start), tail.padded().data(), RowTail::longest);
    place += sizeof(Start) + tail.size();
  }
  return place;
}

}  // namespace

void RowTail::add(std::uint32_t value, unsigned width, Endian endian) {
  const std::span<std::byte> place = std::span(bytes_).subspan(size_, width);
  if (width == 1) place[0] = static_cast<std::byte>(value);
  if (width == 2) store(place, static_cast<std::uint16_t>(value), endian);
  if (width == 4) store(place, value, endian);
  size_ = static_cast<std::uint8_t>(size_ + width);
}

RowTail encode_tail(const std::optional<sframe::RecoveryRules>& recovery, sframe::FdeType type,
                    const Dialect& dialect) {
  const Endian endian = dialect.abi->endian;
  RowTail tail;
  if (!recovery) {
    // No data words: RA undefined (section 2.4.1). GNU as leaves every other bit clear too.
    tail.add(sframe::FreInfo(false, 0, DataWordWidth::One, false).byte(), 1, endian);
    return tail;
  }
  const bool flexible = type == sframe::FdeType::Flexible;
  const DataWords words = flexible ? flexible_words(*recovery, dialect) : default_words(*recovery, dialect);
  const bool base_is_sp = !flexible && recovery->cfa.base_register == dialect.abi->stack_pointer;
  const auto count = static_cast<unsigned>(words.words().size());
  tail.add(sframe::FreInfo(base_is_sp, count, words.width(), recovery->mangled_ra).byte(), 1, endian);
  for (const DataWord& word : words.words()) tail.add(word.bits, bytes_of(words.width()), endian);
  return tail;
}

EncodedRuleId EncodedRules::intern(const std::optional<sframe::RecoveryRules>& recovery) {
  EncodedRule rule{{}, {}, !recovery, recovery && recovery->mangled_ra};
  if (!recovery || !why_not_default(*recovery, dialect_))
    rule.in_default = encode_tail(recovery, sframe::FdeType::Default, dialect_);
  if (dialect_.flexible_descriptors) rule.in_flexible = encode_tail(recovery, sframe::FdeType::Flexible, dialect_);
  const std::uint64_t hash = hash_of(rule);
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(hash, [&](EncodedRuleId other) {
    return encoded_rules_[other].in_default == rule.in_default && encoded_rules_[other].in_flexible == rule.in_flexible;
  });
  if (known) return *known;
  if (encoded_rules_.size() == cfi::RuleTable::most_rules)
    throw std::length_error("more than " + std::to_string(cfi::RuleTable::most_rules) + " different rules");
  // Whatever throws is before what changes both.
  encoded_rules_.make_room();
  const EncodedRuleId number = numbers_.add(hash);
  encoded_rules_.push_back(rule);
  return number;
}

void RuleTranslations::work_out(cfi::RuleId last) {
  const std::lock_guard lock(mutex_);
  for (std::size_t rule = by_rule_.size(); rule <= last; ++rule)
    by_rule_.push_back(translate(rules_[static_cast<cfi::RuleId>(rule)]));
  worked_out_.store(by_rule_.size(), std::memory_order_release);
}

TranslatedRule RuleTranslations::translate(const cfi::Rules& rules) {
  const Representation represented = represent(rules, encoded_rules_.dialect());
  if (const auto* const reason = std::get_if<Unrepresentable>(&represented)) return *reason;
  if (const auto* const plt = std::get_if<PltEntries>(&represented))
    return PltRows{encoded_rules_.intern(plt->before), encoded_rules_.intern(plt->after), plt->threshold};
  const auto* const recovery = std::get_if<sframe::RecoveryRules>(&represented);
  const EncodedRuleId id = encoded_rules_.intern(recovery != nullptr ? std::optional(*recovery) : std::nullopt);
  return SingleRow{id, encoded_rules_[id].in_default.size() != 0, recovery == nullptr};
}

FdeRows with_encoded_rules(const sframe::Fde& fde, EncodedRules& encoded_rules) {
  FdeRows result{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  result.rows.reserve(fde.fres.size());
  for (const sframe::Fre& fre : fde.fres) result.rows.push_back({fre.pc_offset, encoded_rules.intern(fre.recovery)});
  return result;
}

sframe::FreAddressWidth fre_address_width(std::uint32_t function_size) {
  return function_size <= UINT8_MAX    ? sframe::FreAddressWidth::One
         : function_size <= UINT16_MAX ? sframe::FreAddressWidth::Two
                                       : sframe::FreAddressWidth::Four;
}

std::byte* put_rows(std::span<const EncodedRow> rows, std::uint32_t shift, sframe::FreAddressWidth width,
                    sframe::FdeType type, const EncodedRules& encoded_rules, std::byte* place) {
  switch (width) {
    case sframe::FreAddressWidth::One:
      return put_rows_of<std::uint8_t>(rows, shift, type, encoded_rules, place);
    case sframe::FreAddressWidth::Two:
      return put_rows_of<std::uint16_t>(rows, shift, type, encoded_rules, place);
    case sframe::FreAddressWidth::Four:
      return put_rows_of<std::uint32_t>(rows, shift, type, encoded_rules, place);
  }
  return place;
}

}  // namespace sframe_gen::emit
