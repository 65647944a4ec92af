#include "cfi/frame_index.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "cfi/augmentation.hpp"
#include "cfi/dwarf_constants.hpp"
#include "cfi/pointer.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint32_t first_reserved_length = 0xfffffff0;

/// What FDEs with their usual handful of instructions take up.
constexpr std::size_t usual_fde_size = 40;

/// Room is made ahead for no more: a section's size may be a hole's, and more grow with what is really read.
constexpr std::size_t most_fdes_ahead = std::size_t{1} << 17;

/// One record: its place, the place and value of its CIE id field, and its body.
struct Record {
  std::uint64_t offset = 0;
  std::uint64_t id_offset = 0;
  std::uint64_t id = 0;
  bool is_cie = false;
  ByteReader body;
};

class SectionWalk {
 public:
  SectionWalk(FrameSection kind, FrameTable& table)
      : kind_(kind),
        bytes_(table.section_bytes),
        table_(table),
        reader_(table.section_bytes, table.endian, table.origin) {}

  void run() {
    table_.fdes.reserve(std::min(bytes_.size() / usual_fde_size, most_fdes_ahead));
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const std::uint32_t short_length = reader_.u32("record length");
      if (short_length == 0 && kind_ == FrameSection::EhFrame) break;
      if (short_length == 0) continue;
      Record record = read_record(offset, short_length);
      record.is_cie ? take_cie(record) : take_fde(record);
    }
    all_cies_known_ = true;
    for (Record& record : early_fdes_) take_fde(record);
    if (!early_fdes_.empty()) std::ranges::sort(table_.fdes, {}, &Fde::section_offset);
  }

 private:
  // Damage costs what it is in, as long as the next record can be found.

  void take_cie(Record& record) {
    const auto index = static_cast<std::uint32_t>(table_.cies.size());
    cies_.emplace(record.offset, index);
    table_.cies.emplace_back();
    try {
      table_.cies.back() = read_cie(record);
    } catch (const MalformedInput& failure) {
      unreadable_cies_.emplace(index, place_and_reason(failure));
    }
  }

  void take_fde(Record& record) {
    try {
      const auto cie = find_cie(record);
      if (!cie) return early_fdes_.push_back(record);
      const auto unreadable = unreadable_cies_.empty() ? unreadable_cies_.end() : unreadable_cies_.find(*cie);
      if (unreadable != unreadable_cies_.end()) return table_.leave_out(record.offset, unreadable->second);
      table_.fdes.push_back(read_fde(record, *cie));
    } catch (const MalformedInput& failure) {
      table_.leave_out(record.offset, place_and_reason(failure));
    }
  }

  /// Without the file's name, which everybody knows by then.
  std::string place_and_reason(const MalformedInput& failure) const {
    return std::string(failure.what()).substr(table_.origin.file.size() + 2);
  }

  Record read_record(std::uint64_t offset, std::uint32_t short_length) {
    const bool wide = short_length == extended_length;
    if (!wide && short_length >= first_reserved_length)
      reader_.fail(offset, "record length " + hex(short_length) + " is reserved");
    const std::uint64_t length = wide ? reader_.u64("64-bit record length") : short_length;
    if (length > reader_.left()) {
      reader_.fail(offset, "record of " + hex(length) + " bytes does not fit in the section (" + hex(reader_.left()) +
                               " bytes left)");
    }
    const std::uint64_t body_offset = reader_.offset();
    ByteReader body(reader_.take(length, "record"), table_.endian, table_.origin, body_offset);
    // In .eh_frame the id is 4 bytes unless the length is extended, as binutils and libgcc have it.
    const std::uint64_t id = wide ? body.u64("CIE id") : body.u32("CIE id");
    const std::uint64_t cie_id = kind_ == FrameSection::EhFrame ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    return {offset, body_offset, id, id == cie_id, body};
  }

  Cie read_cie(Record& record) const {
    ByteReader& body = record.body;
    const std::uint64_t version_at = body.offset();
    const std::uint8_t version = body.u8("CIE version");
    if (version != 1 && version != 3 && version != 4)
      body.fail(version_at, "CIE version is " + std::to_string(version) + ", not 1, 3 or 4");
    const Augmentation augmentation = read_augmentation_string(body);
    if (version == 4) check_sizes(body);
    Cie cie;
    cie.code_alignment = body.uleb128("code alignment factor");
    cie.data_alignment = body.sleb128("data alignment factor");
    cie.return_address = read_return_address(body, version);
    cie.signal_frame = augmentation.signal_frame;
    cie.b_key = augmentation.b_key;
    cie.has_augmentation_data = augmentation.has_data;
    cie.has_unknown_letters = augmentation.has_unknown;
    if (augmentation.has_data) {
      const std::uint64_t size = body.uleb128("augmentation data size");
      const std::uint64_t data_offset = body.offset();
      const ByteReader data(body.take(size, "augmentation data"), table_.endian, table_.origin, data_offset);
      cie.pointer_encoding = read_augmentation_data(augmentation, data).fde_pointer_encoding;
    }
    cie.initial_instructions = body.take(body.left(), "initial instructions");
    return cie;
  }

  /// Version 4 only.
  static void check_sizes(ByteReader& body) {
    const std::uint8_t address_size = body.u8("address size");
    if (address_size != 8) body.fail(body.offset() - 1, "address size is " + std::to_string(address_size) + ", not 8");
    if (body.u8("segment selector size") != 0) body.fail(body.offset() - 1, "segment selectors are not supported");
  }

  static DwarfRegister read_return_address(ByteReader& body, std::uint8_t version) {
    const std::uint64_t at = body.offset();
    const std::uint64_t number =
        version == 1 ? body.u8("return address register") : body.uleb128("return address register");
    if (number > UINT32_MAX) body.fail(at, "return address register " + hex(number) + " is beyond any machine's");
    return DwarfRegister{static_cast<std::uint32_t>(number)};
  }

  /// No value: it may be behind the FDE, as .debug_frame names it by place (DWARF 5, section 6.4.1).
  std::optional<std::uint32_t> find_cie(const Record& record) {
    const std::uint64_t offset = kind_ == FrameSection::EhFrame ? record.id_offset - record.id : record.id;
    // FDEs of one CIE follow each other.
    if (offset == last_cie_offset_) return last_cie_;
    if (const auto found = cies_.find(offset); found != cies_.end()) {
      last_cie_offset_ = offset;
      last_cie_ = found->second;
      return last_cie_;
    }
    const bool behind = kind_ == FrameSection::DebugFrame && offset > record.offset && offset < bytes_.size();
    if (behind && !all_cies_known_) return std::nullopt;
    const char* const why = offset >= bytes_.size()          ? ", which is outside the section"
                            : kind_ == FrameSection::EhFrame ? ", which is no CIE before it"
                                                             : ", which is no CIE";
    record.body.fail(record.offset, "FDE refers to a CIE at " + hex(offset) + why);
  }

  Fde read_fde(Record& record, std::uint32_t cie_index) const {
    const Cie& cie = table_.cies[cie_index];
    ByteReader& body = record.body;
    Fde fde;
    fde.function_start = read_pointer(body, cie.pointer_encoding, table_.section_address, "function start");
    fde.function_size = read_pointer_value(body, cie.pointer_encoding, "function size");
    fde.section_offset = record.offset;
    fde.cie_index = cie_index;
    if (cie.has_augmentation_data) body.take(body.uleb128("augmentation data size"), "augmentation data");
    fde.instructions = body.take(body.left(), "instructions");
    return fde;
  }

  FrameSection kind_;
  std::span<const std::byte> bytes_;
  FrameTable& table_;
  ByteReader reader_;
  std::vector<Record> early_fdes_;  ///< FDEs whose CIE had not come by
  bool all_cies_known_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> cies_;  ///< index by offset; only looked up, never walked
  std::optional<std::uint64_t> last_cie_offset_;           ///< none before the first look-up: no offset stands for that
  std::uint32_t last_cie_ = 0;
  std::unordered_map<std::uint32_t, std::string> unreadable_cies_;  ///< by index: where, and why
};

}  // namespace

FrameTable index_frame_section(FrameSection kind, std::span<const std::byte> section_bytes,
                               std::uint64_t section_address, Endian endian, const Origin& origin) {
  FrameTable table;
  table.origin = origin;
  table.endian = endian;
  table.section_address = section_address;
  table.section_bytes = section_bytes;
  SectionWalk(kind, table).run();
  return table;
}

}  // namespace sframe_gen::cfi
