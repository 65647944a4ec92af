#include "cfi/frame_section_check.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

#include "cfi/augmentation.hpp"
#include "cfi/dwarf_constants.hpp"
#include "cfi/pointer.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint32_t first_reserved_length = 0xfffffff0;

/// One record: its place, the place and value of its CIE id field, and its body.
struct Record {
  std::uint64_t offset = 0;
  std::uint64_t id_offset = 0;
  std::uint64_t id = 0;
  bool is_cie = false;
  ByteReader body;
};

/// What an FDE's check needs of its CIE.
struct CieSummary {
  std::uint8_t pointer_encoding = pointer_encoding::absptr;
  bool has_augmentation_data = false;
};

class SectionWalk {
 public:
  SectionWalk(FrameSection kind, std::span<const std::byte> bytes, Endian endian, const Origin& origin)
      : kind_(kind), bytes_(bytes), endian_(endian), origin_(origin), reader_(bytes, endian, origin) {}

  CheckedFrameSection run() {
    result_.used = walk();
    return std::move(result_);
  }

 private:
  std::uint64_t walk() {
    std::optional<std::uint64_t> previous;
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const std::uint32_t short_length = reader_.u32("record length");
      if (short_length == 0 && kind_ == FrameSection::EhFrame) return offset;
      if (short_length == 0) {
        if (!previous) reader_.fail(offset, "length of the first record is zero");
        result_.before_zero.push_back(*previous);
        continue;
      }
      previous = offset;
      Record record = read_record(offset, short_length);
      record.is_cie ? check_cie(record) : check_fde(record);
    }
    for (Record& record : early_fdes_) check_fde(record);
    return bytes_.size();
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
    ByteReader body(reader_.take(length, "record"), endian_, origin_, body_offset);
    // In .eh_frame the id is 4 bytes unless the length is extended, as binutils and libgcc have it.
    const std::uint64_t id = wide ? body.u64("CIE id") : body.u32("CIE id");
    const std::uint64_t cie_id = kind_ == FrameSection::EhFrame ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    return {offset, body_offset, id, id == cie_id, body};
  }

  void check_cie(Record& record) {
    ByteReader& body = record.body;
    const std::uint64_t version_at = body.offset();
    const std::uint8_t version = body.u8("CIE version");
    if (version != 1 && version != 3 && version != 4)
      body.fail(version_at, "CIE version is " + std::to_string(version) + ", not 1, 3 or 4");
    const std::uint64_t augmentation_at = body.offset();
    const Augmentation augmentation = read_augmentation_string(body);
    note_aarch64_letters(augmentation, augmentation_at, record.offset);
    if (version == 4) {
      const std::uint8_t address_size = body.u8("address size");
      if (address_size != 8)
        body.fail(body.offset() - 1, "address size is " + std::to_string(address_size) + ", not 8");
      if (body.u8("segment selector size") != 0) body.fail(body.offset() - 1, "segment selectors are not supported");
    }
    body.uleb128("code alignment factor");
    body.sleb128("data alignment factor");
    version == 1 ? std::uint64_t{body.u8("return address register")} : body.uleb128("return address register");
    CieSummary summary;
    summary.has_augmentation_data = augmentation.has_data;
    if (augmentation.has_data) {
      const std::uint64_t size = body.uleb128("augmentation data size");
      const std::uint64_t data_offset = body.offset();
      const auto data = body.take(size, "augmentation data");
      summary.pointer_encoding =
          read_augmentation_data(augmentation, ByteReader(data, endian_, origin_, data_offset)).fde_pointer_encoding;
    }
    cies_.emplace(record.offset, summary);
  }

  void note_aarch64_letters(const Augmentation& augmentation, std::uint64_t string_at, std::uint64_t cie_offset) {
    if (augmentation.letters.find_first_of("BG") == std::string_view::npos) return;
    const std::uint64_t letters_at = string_at + (augmentation.has_data ? 1 : 0);
    for (std::size_t i = 0; i < augmentation.letters.size(); ++i) {
      const char letter = augmentation.letters[i];
      if (letter == 'B' || letter == 'G') result_.aarch64_letters.push_back(letters_at + i);
    }
    result_.aarch64_cies[cie_offset] = {augmentation.signal_frame, augmentation.b_key};
  }

  void check_fde(Record& record) {
    const std::uint64_t cie_offset = kind_ == FrameSection::EhFrame ? record.id_offset - record.id : record.id;
    const auto cie = cies_.find(cie_offset);
    // .debug_frame names its CIE by place, which may be behind the FDE (DWARF 5, section 6.4.1).
    const bool early = kind_ == FrameSection::DebugFrame && !reader_.at_end() && cie_offset > record.offset;
    if (cie == cies_.end() && early && cie_offset < bytes_.size()) {
      early_fdes_.push_back(record);
      return;
    }
    if (cie == cies_.end()) {
      const bool beyond = cie_offset >= bytes_.size();
      record.body.fail(record.offset, "FDE refers to a CIE at " + hex(cie_offset) +
                                          (beyond ? ", which is outside the section" : missing_cie()));
    }
    ByteReader& body = record.body;
    // The place of a pc-relative start does not matter for whether it can be read.
    read_pointer(body, cie->second.pointer_encoding, 0, "function start");
    read_pointer(body, cie->second.pointer_encoding & pointer_encoding::format_mask, 0, "function size");
    if (cie->second.has_augmentation_data) body.take(body.uleb128("augmentation data size"), "augmentation data");
  }

  const char* missing_cie() const {
    return kind_ == FrameSection::EhFrame ? ", which is no CIE before it" : ", which is no CIE";
  }

  FrameSection kind_;
  std::span<const std::byte> bytes_;
  Endian endian_;
  const Origin& origin_;
  ByteReader reader_;
  std::vector<Record> early_fdes_;  ///< FDEs whose CIE had not come by
  CheckedFrameSection result_;
  std::unordered_map<std::uint64_t, CieSummary> cies_;  ///< by offset; only looked up, never walked
};

}  // namespace

CheckedFrameSection check_frame_section(FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                        const Origin& origin) {
  return SectionWalk(kind, bytes, endian, origin).run();
}

}  // namespace sframe_gen::cfi
