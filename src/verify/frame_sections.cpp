#include "verify/frame_sections.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cfi/instruction.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"
#include "support/text.hpp"
#include "verify/libdwarf.hpp"

namespace sframe_gen::verify {

namespace {

const char* misread_instruction(const cfi::FrameTable& table, const cfi::Cie& cie,
                                std::span<const std::byte> instructions) {
  // Whether return addresses can be signed decides about opcodes without operands only.
  const cfi::InstructionContext context{cie.code_alignment, cie.data_alignment, cie.pointer_encoding,
                                        table.section_address, true};
  ByteReader reader(instructions, table.endian, table.origin, table.offset_of(instructions));
  while (!reader.at_end()) {
    const cfi::Instruction instruction = cfi::read_instruction(reader, context);
    if (!instruction.known) return nullptr;
    if (std::max(instruction.target, instruction.source) >= cfi::DwarfRegister{DwarfSession::most_registers})
      return "libdwarf has no room for a register of this number";
    if (instruction.opcode == cfi::CfaOpcode::GnuNegativeOffsetExtended)
      return "libdwarf does not support DW_CFA_GNU_negative_offset_extended";
    if (instruction.opcode == cfi::CfaOpcode::ValOffsetSf) return "libdwarf misreads DW_CFA_val_offset_sf";
    if (instruction.opcode == cfi::CfaOpcode::SetLoc && cie.pointer_encoding != cfi::pointer_encoding::absptr)
      return "libdwarf misreads DW_CFA_set_loc with a pointer that is not an address";
  }
  return nullptr;
}

}  // namespace

const char* misread_by_libdwarf(const cfi::FrameTable& table, std::size_t fde_index) {
  const cfi::Fde& fde = table.fdes[fde_index];
  const cfi::Cie& cie = table.cies[fde.cie_index];
  const char* const in_cie = misread_instruction(table, cie, cie.initial_instructions);
  return in_cie != nullptr ? in_cie : misread_instruction(table, cie, fde.instructions);
}

namespace {

/// How the FDEs of a CIE begin.
struct EntryForm {
  std::uint8_t pointer_encoding = 0;   ///< DW_EH_PE_*
  bool has_augmentation_data = false;  ///< after the pointers
};

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

/// Reads a CIE from after its id. Nothing if it cannot be read: a version, an augmentation letter or a pointer encoding
/// that is not known, another size of addresses than 8, or too few bytes.
std::optional<EntryForm> form_of_entries(ByteReader cie) try { return read_form(cie); } catch (const MalformedInput&) {
  return std::nullopt;
}

/// Checks that an FDE, read from after the reference to its CIE, has all that it begins with.
bool is_readable(ByteReader fde, const EntryForm& form) try {
  skip_pointer(fde, form.pointer_encoding);
  skip_pointer(fde, form.pointer_encoding);
  if (form.has_augmentation_data) fde.take(fde.uleb128("augmentation data size"), "augmentation data");
  return true;
} catch (const MalformedInput&) {
  return false;
}

using Taken = CheckedFrameSection::Taken;

bool is_wide(std::span<const std::byte> record, Endian endian) {
  return load<std::uint32_t>(record, endian) == UINT32_MAX;
}

/// Makes the record longer by what follows it, zeros from now on.
void take_in(std::span<std::byte> section, const Taken& taken, Endian endian) {
  const std::uint64_t size = taken.end - taken.begin;
  std::ranges::fill(section.subspan(taken.begin, size), std::byte{0});
  const auto record = section.subspan(taken.record);
  if (is_wide(record, endian)) {
    store(record.subspan(4), load<std::uint64_t>(record.subspan(4), endian) + size, endian);
  } else {
    store(record, static_cast<std::uint32_t>(load<std::uint32_t>(record, endian) + size), endian);
  }
}

/// Makes the first record a CIE that nothing refers to: of version 1, without augmentation, factors 1, register 0.
void make_harmless(std::span<std::byte> section, cfi::FrameSection kind, Endian endian) {
  const bool wide = is_wide(section, endian);
  const std::uint64_t length =
      wide ? load<std::uint64_t>(section.subspan(4), endian) : load<std::uint32_t>(section, endian);
  const auto body = section.subspan(wide ? 12 : 4, length);
  std::ranges::fill(body, std::byte{0});
  const std::size_t id_size = wide ? 8 : 4;
  if (kind == cfi::FrameSection::DebugFrame) std::ranges::fill(body.first(id_size), std::byte{0xff});
  for (const std::size_t one : {0U, 2U, 3U}) body[id_size + one] = std::byte{1};
}

}  // namespace

std::shared_ptr<const std::vector<std::byte>> readable_copy(cfi::FrameSection kind, std::span<const std::byte> bytes,
                                                            Endian endian, const CheckedFrameSection& checked) {
  if (checked.aarch64_letters.empty() && checked.taken_in.empty() && !checked.first_is_unreadable) return nullptr;
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  for (const std::uint64_t place : checked.aarch64_letters) (*copy)[place] = std::byte{'S'};
  if (checked.first_is_unreadable) make_harmless(*copy, kind, endian);
  for (const Taken& taken : checked.taken_in) take_in(*copy, taken, endian);
  return copy;
}

std::span<const std::byte> without_taken_in(const CheckedFrameSection& checked, std::uint64_t record,
                                            std::span<const std::byte> instructions) {
  std::size_t size = instructions.size();
  auto taken = std::ranges::lower_bound(checked.taken_in, record, {}, &Taken::record);
  for (; taken != checked.taken_in.end() && taken->record == record; ++taken) size -= taken->end - taken->begin;
  return instructions.first(size);
}

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

  /// What is taken in is no record any more, which could take in what follows it.
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
