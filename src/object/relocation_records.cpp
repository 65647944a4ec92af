#include "object/relocation_records.hpp"

#include <elf.h>

#include "object/relocation_tables.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::object {

namespace {

using Callback = std::function<void(const Relocation&)>;

void read_rela(ByteReader reader, const Callback& callback) {
  while (!reader.at_end()) {
    Relocation relocation;
    relocation.record_offset = reader.offset();
    relocation.field_offset = reader.u64("relocation offset");
    const std::uint64_t info = reader.u64("relocation info");
    relocation.addend = reader.i64("relocation addend");
    relocation.type = static_cast<std::uint32_t>(ELF64_R_TYPE(info));
    relocation.symbol = static_cast<std::uint32_t>(ELF64_R_SYM(info));
    callback(relocation);
  }
}

/// SHT_CREL, as LLVM 20 and later writes it: ULEB128 of count * 8 + (addends ? 4 : 0) + shift, and for each relocation
/// how it differs from the one before.
///
///   first byte   bit 0 symbol, 1 type, 2 addend (where there are any): an SLEB128 of each that is set follows;
///                the bits above them, of this byte and the ULEB128 that it begins: the offset, in units of 2^shift
class CrelReader {
 public:
  explicit CrelReader(const ByteReader& reader) : reader_(reader) {}

  bool has_addends() {
    header_ = reader_.uleb128("CREL header");
    return (header_ & addends_bit) != 0;
  }

  void read_all(const Callback& callback) {
    const unsigned shift = header_ % addends_bit;
    std::uint64_t offset = 0;
    Relocation relocation;
    for (std::uint64_t left = header_ / 8; left != 0; --left) {
      relocation.record_offset = reader_.offset();
      const std::uint8_t first = reader_.u8("relocation");
      offset += offset_delta(first);
      if ((first & 1U) != 0) relocation.symbol += static_cast<std::uint32_t>(reader_.sleb128("relocation symbol"));
      if ((first & 2U) != 0) relocation.type += static_cast<std::uint32_t>(reader_.sleb128("relocation type"));
      if ((first & 4U) != 0) addend_ += static_cast<std::uint64_t>(reader_.sleb128("relocation addend"));
      relocation.field_offset = offset << shift;
      relocation.addend = static_cast<std::int64_t>(addend_);
      callback(relocation);
    }
  }

 private:
  static constexpr unsigned addends_bit = 4, flag_bits = 3, offset_bits_in_first = 7 - flag_bits;

  std::uint64_t offset_delta(std::uint8_t first) {
    const bool goes_on = first >= 0x80;
    const std::uint64_t low = (first & 0x7fU) >> flag_bits;
    return goes_on ? low + (reader_.uleb128("relocation offset") << offset_bits_in_first) : low;
  }

  ByteReader reader_;
  std::uint64_t header_ = 0;
  std::uint64_t addend_ = 0;  ///< modulo 2^64
};

}  // namespace

void for_each_relocation(const elf::Image& object, const elf::Section& section, const std::string& target,
                         const Callback& callback) {
  const Origin origin{object.name(), section.name};
  const ByteReader reader(object.bytes_of(section), object.endian(), origin);
  if (section.header.sh_type == SHT_RELA) return read_rela(reader, callback);
  CrelReader packed(reader);
  if (section.header.sh_type != section_type_crel || !packed.has_addends())
    throw Refused(object.name(), "has relocations without addends for " + target);
  packed.read_all(callback);
}

}  // namespace sframe_gen::object
