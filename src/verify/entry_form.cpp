#include "verify/entry_form.hpp"

#include <string>

namespace sframe_gen::verify {

namespace {

// LSB 5.0, section 10.5: the low four bits are the format, the others what the pointer counts from.
constexpr std::uint8_t format_bits = 0x0f, application_bits = 0xf0, pc_relative = 0x10, aligned = 0x50;

void skip_pointer(ByteReader& reader, std::uint8_t encoding) {
  switch (encoding & format_bits) {
    case 0x0:
    case 0x4:
    case 0xc:
      reader.u64("pointer");
      return;
    case 0x1:
    case 0x9:
      reader.sleb128("pointer");
      return;
    case 0x2:
    case 0xa:
      reader.u16("pointer");
      return;
    case 0x3:
    case 0xb:
      reader.u32("pointer");
      return;
    default:
      reader.fail("pointer format is unknown");
  }
}

std::uint8_t encoding_in(ByteReader data, const std::string& letters) {
  std::uint8_t encoding = 0;
  for (const char letter : letters) {
    if (letter == 'L') data.u8("LSDA encoding");
    if (letter == 'R') encoding = data.u8("pointer encoding");
    if (letter != 'P') continue;
    const std::uint8_t personality = data.u8("personality encoding");
    if ((personality & application_bits & 0x7f) == aligned) data.fail("personality is aligned");
    skip_pointer(data, personality);
  }
  return encoding;
}

EntryForm read_form(ByteReader& cie) {
  const std::uint8_t version = cie.u8("version");
  if (version != 1 && version != 3 && version != 4) cie.fail("version is unknown");
  std::string letters;
  while (const std::uint8_t letter = cie.u8("augmentation")) letters.push_back(static_cast<char>(letter));
  EntryForm form;
  form.has_augmentation_data = letters.starts_with('z');
  if (form.has_augmentation_data) letters.erase(0, 1);
  const char* const known = form.has_augmentation_data ? "LPRSBG" : "SBG";
  if (letters.find_first_not_of(known) != std::string::npos) cie.fail("augmentation is unknown");
  if (version == 4 && (cie.u8("address size") != 8 || cie.u8("segment selector size") != 0))
    cie.fail("addresses are not of 64 bits");
  cie.uleb128("code alignment factor");
  cie.sleb128("data alignment factor");
  if (version == 1) {
    cie.u8("return address register");
  } else {
    cie.uleb128("return address register");
  }
  if (form.has_augmentation_data) {
    const auto data = cie.take(cie.uleb128("augmentation data size"), "augmentation data");
    form.pointer_encoding = encoding_in(ByteReader(data, cie.endian(), cie.origin()), letters);
  }
  const std::uint8_t application = form.pointer_encoding & application_bits;
  if (application != 0 && application != pc_relative) cie.fail("pointers count from elsewhere");
  return form;
}

}  // namespace

std::optional<EntryForm> form_of_entries(ByteReader cie) try { return read_form(cie); } catch (const MalformedInput&) {
  return std::nullopt;
}

bool is_readable(ByteReader fde, const EntryForm& form) try {
  skip_pointer(fde, form.pointer_encoding);
  skip_pointer(fde, form.pointer_encoding);
  if (form.has_augmentation_data) fde.take(fde.uleb128("augmentation data size"), "augmentation data");
  return true;
} catch (const MalformedInput&) {
  return false;
}

}  // namespace sframe_gen::verify
