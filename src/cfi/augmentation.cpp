#include "cfi/augmentation.hpp"

#include "cfi/dwarf_constants.hpp"
#include "cfi/pointer.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::string_view known_letters = "LPRSBG", letters_with_data = "LPR";

void skip_personality(ByteReader& data) {
  const std::uint8_t encoding = data.u8("personality encoding");
  // It has as much padding before it as its place in memory asks for, and nobody writes it.
  if ((encoding & pointer_encoding::application_mask) == pointer_encoding::aligned) data.fail("personality is aligned");
  read_pointer_value(data, encoding, "personality");
}

}  // namespace

Augmentation parse_augmentation(std::string_view text) {
  Augmentation augmentation;
  augmentation.has_data = text.substr(0, 1) == "z";
  augmentation.letters = augmentation.has_data ? text.substr(1) : text;
  augmentation.signal_frame = augmentation.letters.find('S') != std::string_view::npos;
  augmentation.b_key = augmentation.letters.find('B') != std::string_view::npos;
  augmentation.has_unknown = augmentation.letters.find_first_not_of(known_letters) != std::string_view::npos;
  return augmentation;
}

Augmentation read_augmentation_string(ByteReader& reader) {
  const std::uint64_t start = reader.offset();
  const auto first = reader.take(0, "augmentation").data();
  std::size_t length = 0;
  while (reader.u8("augmentation string") != 0) ++length;
  const Augmentation augmentation = parse_augmentation({reinterpret_cast<const char*>(first), length});
  const bool needs_data =
      augmentation.has_unknown || augmentation.letters.find_first_of(letters_with_data) != std::string_view::npos;
  if (needs_data && !augmentation.has_data) reader.fail(start, "CIE augmentation is unknown");
  return augmentation;
}

AugmentationData read_augmentation_data(const Augmentation& augmentation, ByteReader data) {
  AugmentationData result;
  const std::size_t unknown = augmentation.letters.find_first_not_of(known_letters);
  if (augmentation.letters.find('R', unknown) != std::string_view::npos)
    data.fail("FDE pointer encoding stands behind augmentation data of unknown size");
  for (const char letter : augmentation.letters.substr(0, unknown)) {
    switch (letter) {
      case 'L':
        data.u8("LSDA encoding");
        break;
      case 'R':
        result.fde_pointer_encoding = data.u8("FDE pointer encoding");
        break;
      case 'P':
        // Only its size matters here: the personality routine is for exceptions.
        skip_personality(data);
        break;
      default:
        break;  // S, B and G have no data
    }
  }
  return result;
}

}  // namespace sframe_gen::cfi
