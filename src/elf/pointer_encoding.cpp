#include "elf/pointer_encoding.hpp"

#include <string>

#include "support/text.hpp"

namespace sframe_gen::elf {

std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what) {
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

}  // namespace sframe_gen::elf
