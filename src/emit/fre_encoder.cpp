#include "emit/fre_encoder.hpp"

#include <cassert>
#include <cstring>

#include "sframe/format.hpp"

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

/// The CFA's offset in the ABI's unit: lowering lets only exact ones through.
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

}  // namespace

sframe::FreAddressWidth fre_address_width(std::uint32_t function_size) {
  return function_size <= UINT8_MAX    ? sframe::FreAddressWidth::One
         : function_size <= UINT16_MAX ? sframe::FreAddressWidth::Two
                                       : sframe::FreAddressWidth::Four;
}

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

void encode_fre(ByteWriter& writer, std::uint32_t pc_offset, const RowTail& tail, sframe::FreAddressWidth width) {
  switch (width) {
    case sframe::FreAddressWidth::One:
      writer.u8(static_cast<std::uint8_t>(pc_offset));
      break;
    case sframe::FreAddressWidth::Two:
      writer.u16(static_cast<std::uint16_t>(pc_offset));
      break;
    case sframe::FreAddressWidth::Four:
      writer.u32(pc_offset);
      break;
  }
  // A fixed length is copied faster than one that has to be counted.
  writer.append_filled(RowTail::longest, [&](std::byte* place) {
    std::memcpy(place, tail.padded().data(), RowTail::longest);
    return place + tail.size();
  });
}

}  // namespace sframe_gen::emit
