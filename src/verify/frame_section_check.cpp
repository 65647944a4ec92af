#include "verify/frame_section_check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/byte_reader.hpp"
#include "support/text.hpp"
#include "verify/entry_form.hpp"

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
    result_.used = reader_.left();
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const std::uint32_t length = reader_.u32("record length");
      if (length != 0) {
        visit_record(offset, length);
        previous_ = offset;
      } else if (is_eh_frame_) {
        result_.used = offset;
        break;
      } else if (previous_) {
        take_in(*previous_, offset, reader_.offset());
      } else {
        reader_.fail(offset, "length of the first record is zero");
      }
    }
    for (const Entry& entry : early_entries_) judge(entry);
    find_records_before();
    return std::move(result_);
  }

 private:
  /// An FDE.
  struct Entry {
    std::uint64_t offset, cie;
    std::optional<std::uint64_t> previous;  ///< record before it
    ByteReader body;
  };

  void visit_record(std::uint64_t offset, std::uint32_t short_length) {
    const bool wide = short_length == extended_length;
    if (!wide && short_length >= first_reserved_length)
      reader_.fail(offset, "record length " + hex(short_length) + " is reserved");
    const std::uint64_t length = wide ? reader_.u64("64-bit record length") : short_length;
    const std::uint64_t body_at = reader_.offset();
    ByteReader body(reader_.take(length, "record"), endian_, origin_, body_at);
    const std::uint64_t id = wide ? body.u64("CIE id") : body.u32("CIE id");
    const std::uint64_t cie_id = is_eh_frame_ ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    if (id != cie_id) {
      const Entry entry{offset, is_eh_frame_ ? body_at - id : id, previous_, body};
      return !is_eh_frame_ && !cies_.contains(entry.cie) ? early_entries_.push_back(entry) : judge(entry);
    }
    const auto form = form_of_entries(body);
    cies_.emplace(offset, form);
    if (!form) return leave_out(offset, reader_.offset(), previous_, body.left());
    visit_letters(offset, body);
  }

  void judge(const Entry& entry) {
    const auto cie = cies_.find(entry.cie);
    if (cie != cies_.end() && cie->second && is_readable(entry.body, *cie->second)) return;
    leave_out(entry.offset, entry.body.offset() + entry.body.left(), entry.previous, entry.body.left());
  }

  void leave_out(std::uint64_t begin, std::uint64_t end, std::optional<std::uint64_t> previous, std::uint64_t room) {
    if (previous) return take_in(*previous, begin, end);
    constexpr std::uint64_t smallest_cie = 5;  // version, augmentation, two factors, a register
    if (room < smallest_cie) reader_.fail(begin, "first record cannot be read");
    result_.first_is_unreadable = true;
  }

  void take_in(std::uint64_t record, std::uint64_t begin, std::uint64_t end) {
    result_.taken_in.push_back({record, begin, end});
  }

  /// What is taken in is no record any more, which could take in what stands behind it.
  void find_records_before() {
    auto& taken = result_.taken_in;
    std::ranges::sort(taken, {}, &CheckedFrameSection::Taken::begin);
    for (auto next = taken.begin(); next != taken.end(); ++next) {
      const auto before =
          std::ranges::lower_bound(taken.begin(), next, next->record, {}, &CheckedFrameSection::Taken::begin);
      if (before != next && before->begin == next->record) next->record = before->record;
    }
  }

  void visit_letters(std::uint64_t cie_offset, ByteReader& body) {
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
  std::optional<std::uint64_t> previous_;                             ///< record
  std::unordered_map<std::uint64_t, std::optional<EntryForm>> cies_;  ///< by offset
  std::vector<Entry> early_entries_;                                  ///< whose CIE is yet to come
  CheckedFrameSection result_;
};

}  // namespace

CheckedFrameSection check_frame_section(cfi::FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                        const Origin& origin) {
  return SectionWalk(kind, bytes, endian, origin).run();
}

}  // namespace sframe_gen::verify
