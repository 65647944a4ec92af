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
  const char* unsupported = nullptr;   ///< what libdwarf does not support, as a clause; null: it reads these FDEs
};

// LSB 5.0, section 10.5: the low four bits are the format, the others what the pointer counts from.
constexpr std::uint8_t format_bits = 0x0f, application_bits = 0xf0, pc_relative = 0x10, aligned = 0x50;

std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding) {
  switch (encoding & format_bits) {
    case 0x0:
    case 0x4:
    case 0xc:
      return reader.u64("pointer");
    case 0x1:
      return reader.uleb128("pointer");
    case 0x2:
      return reader.u16("pointer");
    case 0x3:
      return reader.u32("pointer");
    case 0x9:
      return static_cast<std::uint64_t>(reader.sleb128("pointer"));
    case 0xa:
      return static_cast<std::uint64_t>(reader.i16("pointer"));
    case 0xb:
      return static_cast<std::uint64_t>(reader.i32("pointer"));
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
    read_pointer(data, personality);
  }
  return encoding;
}

/// What libdwarf 20210528 and 0.11 do not support of a CIE, for which they give up on the whole section or misread the
/// numbers of its FDEs.
const char* unsupported_by_libdwarf(cfi::FrameSection kind, bool has_letters, bool has_augmentation_data,
                                    std::uint64_t code_alignment, std::int64_t data_alignment,
                                    std::uint64_t return_address) {
  if (has_letters && kind == cfi::FrameSection::DebugFrame) return "libdwarf does not support augmentations here";
  if (has_letters && !has_augmentation_data) return "libdwarf does not support an augmentation without 'z'";
  if (return_address > DwarfSession::usual_registers) return "libdwarf does not support such a return address register";
  const bool fit_in_bytes = code_alignment <= UINT8_MAX && data_alignment >= INT8_MIN && data_alignment <= INT8_MAX;
  return fit_in_bytes ? nullptr : "libdwarf keeps alignment factors in a byte each";
}

EntryForm read_form(cfi::FrameSection kind, ByteReader& cie) {
  const std::uint8_t version = cie.u8("version");
  if (version != 1 && version != 3 && version != 4) cie.fail("version is unknown");
  std::string letters;
  while (const std::uint8_t letter = cie.u8("augmentation")) letters.push_back(static_cast<char>(letter));
  EntryForm form;
  const bool has_letters = !letters.empty();
  form.has_augmentation_data = letters.starts_with('z');
  if (form.has_augmentation_data) letters.erase(0, 1);
  const char* const known = form.has_augmentation_data ? "LPRSBG" : "SBG";
  if (letters.find_first_not_of(known) != std::string::npos) cie.fail("augmentation is unknown");
  if (version == 4 && (cie.u8("address size") != 8 || cie.u8("segment selector size") != 0))
    cie.fail("addresses are not of 64 bits");
  const std::uint64_t code_alignment = cie.uleb128("code alignment factor");
  const std::int64_t data_alignment = cie.sleb128("data alignment factor");
  const std::uint64_t return_address =
      version == 1 ? cie.u8("return address register") : cie.uleb128("return address register");
  form.unsupported = unsupported_by_libdwarf(kind, has_letters, form.has_augmentation_data, code_alignment,
                                             data_alignment, return_address);
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
std::optional<EntryForm> form_of_entries(cfi::FrameSection kind, ByteReader cie) try {
  return read_form(kind, cie);
} catch (const MalformedInput&) {
  return std::nullopt;
}

/// Returns the code that an FDE describes, read from after the reference to its CIE; nothing if it does not have all
/// that it begins with.
std::optional<Range> code_of(ByteReader fde, const EntryForm& form, std::uint64_t section_address) try {
  const bool counts_from_here = (form.pointer_encoding & application_bits) == pc_relative;
  const std::uint64_t base = counts_from_here ? section_address + fde.offset() : 0;
  const std::uint64_t start = base + read_pointer(fde, form.pointer_encoding);
  const std::uint64_t size = read_pointer(fde, form.pointer_encoding);
  if (form.has_augmentation_data) fde.take(fde.uleb128("augmentation data size"), "augmentation data");
  return Range{start, start + size};
} catch (const MalformedInput&) {
  return std::nullopt;
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
  SectionWalk(cfi::FrameSection kind, std::span<const std::byte> bytes, std::uint64_t address, Endian endian,
              const InputOrigin& origin)
      : kind_(kind),
        is_eh_frame_(kind == cfi::FrameSection::EhFrame),
        address_(address),
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
    const auto form = form_of_entries(kind_, body);
    cies_.emplace(offset, form);
    if (!form || form->unsupported != nullptr) return leave_out(offset, reader_.offset(), previous_, body.left());
    visit_letters(offset, body);
  }

  void judge(const Entry& entry) {
    const auto cie = cies_.find(entry.cie);
    const EntryForm* const form = cie != cies_.end() && cie->second ? &*cie->second : nullptr;
    const std::optional<Range> code = form != nullptr ? code_of(entry.body, *form, address_) : std::nullopt;
    if (code && form->unsupported == nullptr) return;
    if (code) result_.unsupported.push_back({entry.offset, *code, form->unsupported});
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

  cfi::FrameSection kind_;
  bool is_eh_frame_;
  std::uint64_t address_;
  Endian endian_;
  const InputOrigin& origin_;
  ByteReader reader_;
  std::optional<std::uint64_t> previous_;                             ///< record
  std::unordered_map<std::uint64_t, std::optional<EntryForm>> cies_;  ///< by offset
  std::vector<Entry> early_entries_;                                  ///< whose CIE is yet to come
  CheckedFrameSection result_;
};

}  // namespace

CheckedFrameSection check_frame_section(cfi::FrameSection kind, std::span<const std::byte> bytes, std::uint64_t address,
                                        Endian endian, const InputOrigin& origin) {
  return SectionWalk(kind, bytes, address, endian, origin).run();
}

}  // namespace sframe_gen::verify
