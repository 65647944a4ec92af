#include "verify/frame_sections.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "support/bytes.hpp"
#include "support/endian.hpp"
#include "support/text.hpp"
#include "verify/cfa_instructions.hpp"

namespace sframe_gen::verify {

namespace {

const char* misread_instruction(const DwarfTable& table, const DwarfCie& cie, std::span<const std::byte> bytes) {
  CfaInstructions instructions(table, cie, bytes);
  while (const auto instruction = instructions.next()) {
    if (!instruction->is_known) return nullptr;
    if (std::max(instruction->target, instruction->source) >= std::uint64_t{most_registers})
      return "libdwarf has no room for a register of this number";
    if (instruction->opcode == cfa::gnu_negative_offset_extended)
      return "libdwarf does not support DW_CFA_GNU_negative_offset_extended";
    if (instruction->opcode == cfa::val_offset_sf) return "libdwarf misreads DW_CFA_val_offset_sf";
    if (instruction->opcode == cfa::set_loc && cie.pointer_encoding != 0)
      return "libdwarf misreads DW_CFA_set_loc with a pointer that is not an address";
  }
  return nullptr;
}

/// Reads the augmentation data of a CIE, for the encoding of its FDEs' pointers.
std::uint8_t encoding_in(ByteReader data, const std::string& letters) {
  std::uint8_t encoding = 0;
  for (const char letter : letters) {
    if (letter == 'L') data.u8("LSDA encoding");
    if (letter == 'R') encoding = data.u8("pointer encoding");
    if (letter != 'P') continue;
    const std::uint8_t personality = data.u8("personality encoding");
    if ((personality & pointer::application_bits & 0x7f) == pointer::aligned) data.fail("personality is aligned");
    read_pointer(data, personality, "personality");
  }
  return encoding;
}

/// Returns what libdwarf 20210528 and 0.11 do not support of a CIE; null: nothing. They give up on the whole section,
/// or misread the numbers of the CIE's FDEs.
const char* unsupported_by_libdwarf(CfiKind kind, bool has_letters, bool has_augmentation_data,
                                    std::uint64_t code_alignment, std::int64_t data_alignment,
                                    std::uint64_t return_address) {
  if (has_letters && kind == CfiKind::DebugFrame) return "libdwarf does not support augmentations here";
  if (has_letters && !has_augmentation_data) return "libdwarf does not support an augmentation without 'z'";
  if (return_address > usual_registers) return "libdwarf does not support such a return address register";
  const bool fit_in_bytes = code_alignment <= UINT8_MAX && data_alignment >= INT8_MIN && data_alignment <= INT8_MAX;
  return fit_in_bytes ? nullptr : "libdwarf keeps alignment factors in a byte each";
}

CieForm read_form(CfiKind kind, ByteReader& cie) {
  const std::uint8_t version = cie.u8("version");
  if (version != 1 && version != 3 && version != 4) cie.fail("version is unknown");
  std::string letters;
  while (const std::uint8_t letter = cie.u8("augmentation")) letters.push_back(static_cast<char>(letter));
  CieForm form;
  const bool has_letters = !letters.empty();
  form.has_augmentation_data = letters.starts_with('z');
  form.signal_frame = letters.find('S') != std::string::npos;
  form.b_key = letters.find('B') != std::string::npos;
  if (form.has_augmentation_data) letters.erase(0, 1);
  const char* const measurable = form.has_augmentation_data ? "LPRSBG" : "SBG";
  if (letters.find_first_not_of(measurable) != std::string::npos) cie.fail("augmentation is unknown");
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
  const std::uint8_t application = form.pointer_encoding & pointer::application_bits;
  if (application != 0 && application != pointer::pc_relative) cie.fail("pointers count from elsewhere");
  return form;
}

/// Reads a CIE from after its id. No value if it cannot be read: a version, an augmentation letter or a pointer
/// encoding that is not known, another size of addresses than 8, or too few bytes.
std::optional<CieForm> form_of_cie(CfiKind kind, ByteReader cie) try {
  return read_form(kind, cie);
} catch (const MalformedInput&) {
  return std::nullopt;
}

/// Returns the code that an FDE describes, read from after the reference to its CIE; no value if the FDE ends too
/// early.
std::optional<Range> code_of(ByteReader fde, const CieForm& form, std::uint64_t section_address) try {
  const bool counts_from_here = (form.pointer_encoding & pointer::application_bits) == pointer::pc_relative;
  const std::uint64_t base = counts_from_here ? section_address + fde.offset() : 0;
  const std::uint64_t start = base + read_pointer(fde, form.pointer_encoding, "pointer");
  const std::uint64_t size = read_pointer(fde, form.pointer_encoding, "pointer");
  if (form.has_augmentation_data) fde.take(fde.uleb128("augmentation data size"), "augmentation data");
  return Range{start, start + size};
} catch (const MalformedInput&) {
  return std::nullopt;
}

using HiddenBytes = CheckedFrameSection::HiddenBytes;

bool is_wide(std::span<const std::byte> record, Endian endian) {
  return load<std::uint32_t>(record, endian) == UINT32_MAX;
}

/// Makes the record before hidden bytes longer by them, and them zeros.
void hide(std::span<std::byte> section, const HiddenBytes& hidden, Endian endian) {
  const std::uint64_t size = hidden.end - hidden.begin;
  std::ranges::fill(section.subspan(hidden.begin, size), std::byte{0});
  const auto record = section.subspan(hidden.record);
  if (is_wide(record, endian)) {
    store(record.subspan(4), load<std::uint64_t>(record.subspan(4), endian) + size, endian);
  } else {
    store(record, static_cast<std::uint32_t>(load<std::uint32_t>(record, endian) + size), endian);
  }
}

/// Makes the first record a CIE that nothing refers to: of version 1, without augmentation, factors 1, register 0.
void make_harmless(std::span<std::byte> section, CfiKind kind, Endian endian) {
  const bool wide = is_wide(section, endian);
  const std::uint64_t length =
      wide ? load<std::uint64_t>(section.subspan(4), endian) : load<std::uint32_t>(section, endian);
  const auto body = section.subspan(wide ? 12 : 4, length);
  std::ranges::fill(body, std::byte{0});
  const std::size_t id_size = wide ? 8 : 4;
  if (kind == CfiKind::DebugFrame) std::ranges::fill(body.first(id_size), std::byte{0xff});
  for (const std::size_t version_or_factor : {0U, 2U, 3U}) body[id_size + version_or_factor] = std::byte{1};
}

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint32_t first_reserved_length = 0xfffffff0;

/// Goes from record to record of a section.
class CfiRecordWalk {
 public:
  CfiRecordWalk(CfiKind kind, std::span<const std::byte> bytes, std::uint64_t address, Endian endian,
                const InputOrigin& origin)
      : kind_(kind),
        is_eh_frame_(kind == CfiKind::EhFrame),
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
        result_.hidden.push_back({*previous_, offset, reader_.offset()});
      } else {
        reader_.fail(offset, "length of the first record is zero");
      }
    }
    for (const FdeRecord& fde : early_fdes_) visit_fde(fde);
    find_records_before();
    return std::move(result_);
  }

 private:
  struct FdeRecord {
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
    if (id == cie_id) return visit_cie(offset, body);
    const FdeRecord fde{offset, is_eh_frame_ ? body_at - id : id, previous_, body};
    const bool is_early = !is_eh_frame_ && !result_.cies.contains(fde.cie);
    is_early ? early_fdes_.push_back(fde) : visit_fde(fde);
  }

  void visit_cie(std::uint64_t offset, ByteReader& body) {
    const auto form = form_of_cie(kind_, body);
    result_.cies.emplace(offset, form);
    if (!form || form->unsupported != nullptr) return leave_out(offset, reader_.offset(), previous_, body.left());
    body.u8("CIE version");
    for (std::uint64_t at = body.offset();; at = body.offset()) {
      const auto letter = static_cast<char>(body.u8("augmentation string"));
      if (letter == 0) return;
      if (letter == 'B' || letter == 'G') result_.aarch64_letters.push_back(at);
    }
  }

  void visit_fde(const FdeRecord& fde) {
    const auto cie = result_.cies.find(fde.cie);
    const CieForm* const form = cie != result_.cies.end() && cie->second ? &*cie->second : nullptr;
    const std::optional<Range> code = form != nullptr ? code_of(fde.body, *form, address_) : std::nullopt;
    if (code && form->unsupported == nullptr) return;
    if (code) result_.unsupported.push_back({fde.offset, *code, form->unsupported});
    leave_out(fde.offset, fde.body.offset() + fde.body.left(), fde.previous, fde.body.left());
  }

  void leave_out(std::uint64_t begin, std::uint64_t end, std::optional<std::uint64_t> previous, std::uint64_t room) {
    if (previous) return result_.hidden.push_back({*previous, begin, end});
    constexpr std::uint64_t smallest_cie = 5;  // version, augmentation, two factors, a register
    if (room < smallest_cie) reader_.fail(begin, "first record cannot be read");
    result_.first_is_unreadable = true;
  }

  /// Hidden records are no records any more, which could hide what follows them.
  void find_records_before() {
    auto& hidden = result_.hidden;
    std::ranges::sort(hidden, {}, &HiddenBytes::begin);
    for (auto next = hidden.begin(); next != hidden.end(); ++next) {
      const auto before = std::ranges::lower_bound(hidden.begin(), next, next->record, {}, &HiddenBytes::begin);
      if (before != next && before->begin == next->record) next->record = before->record;
    }
  }

  CfiKind kind_;
  bool is_eh_frame_;
  std::uint64_t address_;
  Endian endian_;
  const InputOrigin& origin_;
  ByteReader reader_;
  std::optional<std::uint64_t> previous_;  ///< record
  std::vector<FdeRecord> early_fdes_;      ///< whose CIE is yet to come
  CheckedFrameSection result_;
};

}  // namespace

const char* misread_by_libdwarf(const DwarfTable& table, std::size_t fde_index) {
  const DwarfCie& cie = table.cie_of(fde_index);
  const char* const in_cie = misread_instruction(table, cie, cie.initial_instructions);
  return in_cie != nullptr ? in_cie : misread_instruction(table, cie, table.fdes[fde_index].instructions);
}

CheckedFrameSection check_frame_section(CfiKind kind, std::span<const std::byte> bytes, std::uint64_t address,
                                        Endian endian, const InputOrigin& origin) {
  return CfiRecordWalk(kind, bytes, address, endian, origin).run();
}

std::shared_ptr<const std::vector<std::byte>> readable_copy(CfiKind kind, std::span<const std::byte> bytes,
                                                            Endian endian, const CheckedFrameSection& checked) {
  if (checked.aarch64_letters.empty() && checked.hidden.empty() && !checked.first_is_unreadable) return nullptr;
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  for (const std::uint64_t place : checked.aarch64_letters) (*copy)[place] = std::byte{'S'};
  if (checked.first_is_unreadable) make_harmless(*copy, kind, endian);
  for (const HiddenBytes& hidden : checked.hidden) hide(*copy, hidden, endian);
  return copy;
}

std::span<const std::byte> without_hidden(const CheckedFrameSection& checked, std::uint64_t record,
                                          std::span<const std::byte> instructions) {
  std::size_t size = instructions.size();
  auto hidden = std::ranges::lower_bound(checked.hidden, record, {}, &HiddenBytes::record);
  for (; hidden != checked.hidden.end() && hidden->record == record; ++hidden) size -= hidden->end - hidden->begin;
  return instructions.first(size);
}

}  // namespace sframe_gen::verify
