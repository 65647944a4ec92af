#include "verify/frame_section_check.hpp"

#include <optional>
#include <string_view>

#include "support/byte_reader.hpp"
#include "support/text.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint32_t first_reserved_length = 0xfffffff0;

class SectionWalk {
 public:
  SectionWalk(cfi::FrameSection kind, std::span<const std::byte> bytes, Endian endian, const Origin& origin)
      : is_eh_frame_(kind == cfi::FrameSection::EhFrame),
        endian_(endian),
        origin_(origin),
        reader_(bytes, endian, origin) {}

  CheckedFrameSection run() {
    std::optional<std::uint64_t> previous;
    result_.used = reader_.left();
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const std::uint32_t length = reader_.u32("record length");
      if (length != 0) {
        visit_record(offset, length);
        previous = offset;
      } else if (is_eh_frame_) {
        result_.used = offset;
        break;
      } else if (previous) {
        result_.before_zero.push_back(*previous);
      } else {
        reader_.fail(offset, "length of the first record is zero");
      }
    }
    return std::move(result_);
  }

 private:
  void visit_record(std::uint64_t offset, std::uint32_t short_length) {
    const bool wide = short_length == extended_length;
    if (!wide && short_length >= first_reserved_length)
      reader_.fail(offset, "record length " + hex(short_length) + " is reserved");
    const std::uint64_t length = wide ? reader_.u64("64-bit record length") : short_length;
    const std::uint64_t body_at = reader_.offset();
    ByteReader body(reader_.take(length, "record"), endian_, origin_, body_at);
    const std::uint64_t id = wide ? body.u64("CIE id") : body.u32("CIE id");
    const std::uint64_t cie_id = is_eh_frame_ ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    if (id == cie_id) visit_cie(offset, body);
  }

  void visit_cie(std::uint64_t cie_offset, ByteReader& body) {
    body.u8("CIE version");
    CheckedFrameSection::Marks marks;
    bool has_aarch64_letters = false;
    for (;;) {
      const std::uint64_t at = body.offset();
      const auto letter = static_cast<char>(body.u8("augmentation string"));
      if (letter == 0) break;
      marks.signal_frame = marks.signal_frame || letter == 'S';
      marks.b_key = marks.b_key || letter == 'B';
      if (letter != 'B' && letter != 'G') continue;
      has_aarch64_letters = true;
      result_.aarch64_letters.push_back(at);
    }
    if (has_aarch64_letters) result_.aarch64_cies[cie_offset] = marks;
  }

  bool is_eh_frame_;
  Endian endian_;
  const Origin& origin_;
  ByteReader reader_;
  CheckedFrameSection result_;
};

}  // namespace

CheckedFrameSection check_frame_section(cfi::FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                        const Origin& origin) {
  return SectionWalk(kind, bytes, endian, origin).run();
}

}  // namespace sframe_gen::verify
