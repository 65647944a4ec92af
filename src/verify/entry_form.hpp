#pragma once

#include <cstdint>
#include <optional>

#include "support/byte_reader.hpp"

namespace sframe_gen::verify {

/// How the FDEs of a CIE begin.
struct EntryForm {
  std::uint8_t pointer_encoding = 0;   ///< DW_EH_PE_*
  bool has_augmentation_data = false;  ///< behind the pointers
};

/// What a CIE, read from behind its id, says of them. Nothing where it cannot be read: a version, an augmentation
/// letter or a pointer encoding that is not known, another size of addresses than 8, or too few bytes.
std::optional<EntryForm> form_of_entries(ByteReader cie);

/// Whether an FDE, read from behind the reference to its CIE, has all that it begins with.
bool is_readable(ByteReader fde, const EntryForm& form);

}  // namespace sframe_gen::verify
