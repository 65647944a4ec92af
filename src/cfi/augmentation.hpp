#pragma once

#include <cstdint>
#include <string_view>

#include "support/byte_reader.hpp"

namespace sframe_gen::cfi {

/// A CIE's augmentation string (LSB 5.0, section 10.6.1.1.1).
struct Augmentation {
  std::string_view letters;   ///< without the leading 'z'
  bool has_data = false;      ///< 'z': an augmentation data block follows in CIE and FDEs
  bool signal_frame = false;  ///< 'S'
  bool b_key = false;         ///< 'B'
  bool has_unknown = false;   ///< a letter whose meaning is not known
};

struct AugmentationData {
  std::uint8_t fde_pointer_encoding = 0;  ///< 'R'; DW_EH_PE_absptr without it
};

/// Reads the string at the reader. Only L, P, R, S, B and G are known. Throws MalformedInput for letters whose data
/// cannot be measured: unknown ones without 'z' ("eh", of gcc 2), and L, P and R without it.
Augmentation read_augmentation_string(ByteReader& reader);
Augmentation parse_augmentation(std::string_view text);
/// Reads the CIE's augmentation data block, up to the first unknown letter. Throws MalformedInput where 'R' stands
/// behind that.
AugmentationData read_augmentation_data(const Augmentation& augmentation, ByteReader data);

}  // namespace sframe_gen::cfi
