#include "cfi/augmentation.hpp"

#include "cfi/pointer.hpp"

namespace sframe_gen::cfi {

Augmentation parse_augmentation(std::string_view text) {
  Augmentation augmentation;
  augmentation.has_data = text.substr(0, 1) == "z";
  augmentation.letters = augmentation.has_data ? text.substr(1) : text;
  augmentation.signal_frame = augmentation.letters.find('S') != std::string_view::npos;
  augmentation.b_key = augmentation.letters.find('B') != std::string_view::npos;
  return augmentation;
}

Augmentation read_augmentation_string(ByteReader& reader) {
  const std::uint64_t start = reader.offset();
  const auto first = reader.take(0, "augmentation").data();
  std::size_t length = 0;
  while (reader.u8("augmentation string") != 0) ++length;
  const Augmentation augmentation = parse_augmentation({reinterpret_cast<const char*>(first), length});
  const bool known = augmentation.letters.find_first_not_of("LPRSBG") == std::string_view::npos;
  if (!known || (!augmentation.has_data && augmentation.letters.find_first_of("LPR") != std::string_view::npos)) {
    reader.fail(start, "CIE augmentation is unknown");
  }
  return augmentation;
}

AugmentationData read_augmentation_data(const Augmentation& augmentation, ByteReader data) {
  AugmentationData result;
  for (const char letter : augmentation.letters) {
    switch (letter) {
      case 'L':
        data.u8("LSDA encoding");
        break;
      case 'R':
        result.fde_pointer_encoding = data.u8("FDE pointer encoding");
        break;
      case 'P':
        // Only its size matters here: the personality routine is for exceptions.
        read_pointer_value(data, data.u8("personality encoding"), "personality");
        break;
      default:
        break;  // S, B and G have no data
    }
  }
  return result;
}

}  // namespace sframe_gen::cfi
