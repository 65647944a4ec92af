#include "cfi/pointer.hpp"

#include "cfi/dwarf_constants.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

std::uint64_t read_other_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what) {
  const std::uint8_t format = encoding & pointer_encoding::format_mask;
  switch (format) {
    case pointer_encoding::absptr:
    case pointer_encoding::udata8:
    case pointer_encoding::sdata8:
      return reader.u64(what);
    case pointer_encoding::uleb128:
      return reader.uleb128(what);
    case pointer_encoding::sleb128:
      return static_cast<std::uint64_t>(reader.sleb128(what));
    case pointer_encoding::udata2:
      return reader.u16(what);
    case pointer_encoding::sdata2:
      return static_cast<std::uint64_t>(std::int64_t{reader.i16(what)});
    case pointer_encoding::udata4:
      return reader.u32(what);
    case pointer_encoding::sdata4:
      return static_cast<std::uint64_t>(std::int64_t{reader.i32(what)});
    default:
      reader.fail(std::string(what) + " has pointer format " + hex(format) + ", which is undefined");
  }
}

std::uint64_t read_other_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                 const char* what) {
  const std::uint64_t at = section_address + reader.offset();
  const std::uint8_t application = encoding & (pointer_encoding::application_mask | pointer_encoding::indirect);
  if (application != 0 && application != pointer_encoding::pc_relative) {
    reader.fail(std::string(what) + " has pointer encoding " + hex(encoding) +
                ", which is neither absolute nor pc-relative");
  }
  const std::uint64_t value = read_pointer_value(reader, encoding, what);
  return application == pointer_encoding::pc_relative ? at + value : value;
}

}  // namespace sframe_gen::cfi
