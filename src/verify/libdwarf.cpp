#include "verify/libdwarf.hpp"

#include <dwarf.h>
#include <libdwarf.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cfi/frame_index.hpp"
#include "verify/frame_sections.hpp"

namespace sframe_gen::verify {

namespace {

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
using ObjectMethods = Dwarf_Obj_Access_Methods_a;
using ObjectSection = Dwarf_Obj_Access_Section_a;
using SectionIndex = Dwarf_Unsigned;
#else
using ObjectMethods = Dwarf_Obj_Access_Methods;
using ObjectSection = Dwarf_Obj_Access_Section;
using SectionIndex = Dwarf_Half;
#endif

struct OneSection {
  const char* name;
  std::span<const std::byte> bytes;
  std::uint64_t address;
  Endian endian;
};

const OneSection& section_of(void* object) {
  return *static_cast<const OneSection*>(object);
}

int section_info(void* object, SectionIndex index, ObjectSection* result, int* /*error*/) {
  *result = {};
  if (index > 1) return DW_DLV_NO_ENTRY;
  const OneSection& section = section_of(object);
  const bool real = index == 1;
#if SFRAME_GEN_LIBDWARF_INTERFACE_A
  result->as_name = real ? section.name : "";
  result->as_addr = real ? section.address : 0;
  result->as_size = real ? section.bytes.size() : 0;
  result->as_type = real ? 1 : 0;
#else
  result->name = real ? section.name : "";
  result->addr = real ? section.address : 0;
  result->size = real ? section.bytes.size() : 0;
  result->type = real ? 1 : 0;
#endif
  return DW_DLV_OK;
}

int load_section(void* object, SectionIndex index, Dwarf_Small** data, int* /*error*/) {
  if (index != 1) return DW_DLV_NO_ENTRY;
  // libdwarf takes a pointer to non-const, and writes to it only to relocate, which is not asked for.
  *data = reinterpret_cast<Dwarf_Small*>(const_cast<std::byte*>(section_of(object).bytes.data()));
  return DW_DLV_OK;
}

Dwarf_Unsigned section_count(void* /*object*/) {
  return 2;
}
Dwarf_Small eight(void* /*object*/) {
  return 8;
}
Dwarf_Small four(void* /*object*/) {
  return 4;
}

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
Dwarf_Small byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_END_big : DW_END_little;
}
Dwarf_Unsigned file_size(void* object) {
  return section_of(object).bytes.size();
}
constexpr ObjectMethods methods{section_info, byte_order, four, eight, file_size, section_count, load_section, nullptr};
#else
Dwarf_Endianness byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}
constexpr ObjectMethods methods{section_info, byte_order, four, eight, section_count, load_section, nullptr};
#endif

}  // namespace

struct DwarfObject::Parts {
  OneSection section;
  DwarfObjectInterface interface;
};

DwarfObject::DwarfObject(const char* name, std::span<const std::byte> bytes, std::uint64_t address, Endian endian)
    : parts_(std::make_unique<Parts>(Parts{{name, bytes, address, endian}, {}})) {
  parts_->interface = {&parts_->section, &methods};
}

DwarfObject::~DwarfObject() = default;

DwarfObjectInterface* DwarfObject::interface() {
  return &parts_->interface;
}

namespace {

/// libdwarf refuses rules for registers beyond its table, and fills the whole table for every row asked for. Nearly all
/// FDEs get by with the general registers.
constexpr Dwarf_Half usual_table_size = 36;
/// More columns than any register number in use (x86-64's end at 130, aarch64's at 127, s390x's at 83).
constexpr Dwarf_Half largest_table_size = 160;

#if SFRAME_GEN_LIBDWARF_INTERFACE_A
using BytePointer = Dwarf_Small*;
#else
using BytePointer = Dwarf_Ptr;
#endif

std::span<const std::byte> as_bytes(BytePointer data, Dwarf_Unsigned size) {
  return {static_cast<const std::byte*>(static_cast<const void*>(data)), static_cast<std::size_t>(size)};
}

}  // namespace

struct DwarfSession::Handle {
  cfi::FrameSection kind;
  DwarfObject object;
  cfi::FrameTable table;
  Dwarf_Debug debug = nullptr;
  Dwarf_Cie* cies = nullptr;
  Dwarf_Signed cie_count = 0;
  Dwarf_Fde* fdes = nullptr;
  Dwarf_Signed fde_count = 0;
  CheckedFrameSection checked;
  std::shared_ptr<const std::vector<std::byte>> edited;  ///< holds the section where its bytes are not the file's
  Dwarf_Half table_size = usual_table_size;
  /// What has been asked for in one row of one FDE: [remembered_begin, remembered_end) of `remembered_fde`.
  struct Remembered {
    std::uint16_t column;
    EvaluatedRule rule;
  };
  std::vector<Remembered> remembered;
  std::size_t remembered_fde = 0;
  std::uint64_t remembered_begin = 0, remembered_end = 0;
  std::vector<std::size_t> order;  ///< table index → libdwarf's index; empty: they are the same

  Handle(cfi::FrameSection section_kind, std::span<const std::byte> bytes, std::uint64_t address, Endian endian)
      : kind(section_kind),
        object(kind == cfi::FrameSection::EhFrame ? ".eh_frame" : ".debug_frame", bytes, address, endian) {}

  ~Handle() { close(); }

  void close() {
    if (debug == nullptr) return;
#if SFRAME_GEN_LIBDWARF_INTERFACE_A
    dwarf_dealloc_fde_cie_list(debug, cies, cie_count, fdes, fde_count);
    dwarf_object_finish(debug);
#else
    if (fdes != nullptr) dwarf_fde_cie_list_dealloc(debug, cies, cie_count, fdes, fde_count);
    Dwarf_Error error = nullptr;
    dwarf_object_finish(debug, &error);
#endif
    debug = nullptr;
    fdes = nullptr;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Throws what libdwarf says, at `offset`.
  [[noreturn]] void fail(Dwarf_Error error, std::uint64_t offset) const {
    const std::string why = error != nullptr ? dwarf_errmsg(error) : "no entry";
    // Errors are blocks like any other, and libdwarf was told not to remember its blocks.
    if (error != nullptr) dwarf_dealloc_error(debug, error);
    throw MalformedInput(table.origin, offset, "libdwarf cannot read it: " + why);
  }

  void check(int status, Dwarf_Error error, std::uint64_t offset) const {
    if (status != DW_DLV_OK) fail(error, offset);
  }

  void open() {
    Dwarf_Error error = nullptr;
    check(dwarf_object_init_b(object.interface(), nullptr, nullptr, DW_GROUPNUMBER_ANY, &debug, &error), error, 0);
    dwarf_set_frame_rule_table_size(debug, table_size);
    dwarf_set_frame_cfa_value(debug, cfa_column);
    dwarf_set_frame_undefined_value(debug, undefined_column);
    dwarf_set_frame_same_value(debug, same_value_column);
    // No rule reads as "same value": libdwarf takes only this or "undefined" from 0.9 on.
    dwarf_set_frame_rule_initial_value(debug, same_value_column);
    const auto list = kind == cfi::FrameSection::EhFrame ? dwarf_get_fde_list_eh : dwarf_get_fde_list;
    const int status = list(debug, &cies, &cie_count, &fdes, &fde_count, &error);
    if (status == DW_DLV_ERROR) fail(error, 0);
  }

  void read_cies() {
    for (Dwarf_Signed i = 0; i < cie_count; ++i) {
      Dwarf_Unsigned size = 0, code_alignment = 0, instructions_size = 0;
      Dwarf_Signed data_alignment = 0;
      Dwarf_Small version = 0;
      Dwarf_Half return_address = 0, offset_size = 0;
      char* augmentation_text = nullptr;
      BytePointer instructions = nullptr;
      Dwarf_Error error = nullptr;
      check(dwarf_get_cie_info_b(cies[i], &size, &version, &augmentation_text, &code_alignment, &data_alignment,
                                 &return_address, &instructions, &instructions_size, &offset_size, &error),
            error, 0);
      const cfi::Augmentation augmentation = cfi::parse_augmentation(augmentation_text);
      cfi::Cie cie{code_alignment,
                   data_alignment,
                   cfi::DwarfRegister{return_address},
                   0,
                   augmentation.signal_frame,
                   as_bytes(instructions, instructions_size)};
      read_what_was_edited(cies[i], cie);
      if (augmentation.has_data) {
        Dwarf_Small* data = nullptr;
        Dwarf_Unsigned data_size = 0;
        const int status = dwarf_get_cie_augmentation_data(cies[i], &data, &data_size, &error);
        if (status == DW_DLV_ERROR) fail(error, 0);
        if (status == DW_DLV_OK) {
          cie.pointer_encoding = cfi::read_augmentation_data(
                                     augmentation, ByteReader(as_bytes(data, data_size), table.endian, table.origin))
                                     .fde_pointer_encoding;
        }
      }
      table.cies.push_back(cie);
    }
  }

  /// Where letters were edited, the text that libdwarf has read is not the file's, nor is what was taken in
  /// instructions.
  void read_what_was_edited(Dwarf_Cie handle, cfi::Cie& cie) const {
    if (checked.aarch64_cies.empty() && checked.taken_in.empty()) return;
    Dwarf_Off offset = 0;
    Dwarf_Error error = nullptr;
    check(dwarf_cie_section_offset(debug, handle, &offset, &error), error, 0);
    cie.initial_instructions = without_taken_in(checked, offset, cie.initial_instructions);
    const auto marks = checked.aarch64_cies.find(offset);
    if (marks == checked.aarch64_cies.end()) return;
    cie.signal_frame = marks->second.signal_frame;
    cie.b_key = marks->second.b_key;
  }

  void read_fdes() {
    table.fdes.reserve(static_cast<std::size_t>(fde_count));
    for (Dwarf_Signed i = 0; i < fde_count; ++i) table.fdes.push_back(read_fde(fdes[i]));
    // libdwarf sorts by start alone; where two FDEs share one, the order must not depend on its sort.
    const auto before = [](const cfi::Fde& a, const cfi::Fde& b) {
      return std::pair(a.function_start, a.section_offset) < std::pair(b.function_start, b.section_offset);
    };
    if (std::is_sorted(table.fdes.begin(), table.fdes.end(), before)) return;
    order.resize(table.fdes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return before(table.fdes[a], table.fdes[b]); });
    std::sort(table.fdes.begin(), table.fdes.end(), before);
  }

  EvaluatedRule evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc);
  EvaluatedRule ask(std::size_t fde_index, std::uint16_t column, std::uint64_t pc);

  Dwarf_Fde fde_at(std::size_t table_index) const {
    return fdes[order.empty() ? table_index : order[table_index]];
  }

  cfi::Fde read_fde(Dwarf_Fde fde) const {
    Dwarf_Addr start = 0;
    Dwarf_Unsigned size = 0, record_size = 0, instructions_size = 0;
    BytePointer record = nullptr, instructions = nullptr;
    Dwarf_Off cie_offset = 0, fde_offset = 0;
    Dwarf_Signed cie_index = 0;
    Dwarf_Error error = nullptr;
    check(dwarf_get_fde_range(fde, &start, &size, &record, &record_size, &cie_offset, &cie_index, &fde_offset, &error),
          error, 0);
    check(dwarf_get_fde_instr_bytes(fde, &instructions, &instructions_size, &error), error, fde_offset);
    if (cie_index < 0 || cie_index >= cie_count) {
      throw MalformedInput(table.origin, fde_offset, "FDE has no CIE in the section");
    }
    return {start, size, fde_offset, static_cast<std::uint32_t>(cie_index),
            without_taken_in(checked, fde_offset, as_bytes(instructions, instructions_size))};
  }
};

EvaluatedRule DwarfSession::Handle::evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) {
  if (fde_index != remembered_fde || pc < remembered_begin || pc >= remembered_end) {
    remembered.clear();
    remembered_fde = fde_index;
  }
  const auto known = std::ranges::find(remembered, column, &Remembered::column);
  if (known != remembered.end()) return known->rule;
  const EvaluatedRule rule = ask(fde_index, column, pc);
  if (remembered.empty()) {
    // Only the first question makes libdwarf run the instructions; with a second one at the same PC it says nothing of
    // the next row. Neither does it in the last row.
    remembered_begin = pc;
    remembered_end = rule.next_row_pc && *rule.next_row_pc > pc ? *rule.next_row_pc : pc + 1;
  }
  remembered.push_back({column, rule});
  return rule;
}

/// libdwarf runs the FDE's instructions from its start for each PC, so a row is asked for once.
EvaluatedRule DwarfSession::Handle::ask(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) {
  Dwarf_Fde fde = fde_at(fde_index);
  Dwarf_Small value_type = 0;
  Dwarf_Addr row_pc = 0, next_pc = 0;
  Dwarf_Bool has_more = 0;
  Dwarf_Error error = nullptr;
  EvaluatedRule rule;
#if SFRAME_GEN_LIBDWARF_INTERFACE_A
  Dwarf_Unsigned relevant = 0, base = 0;
  Dwarf_Signed offset = 0;
  Dwarf_Block block{};
  const int status = column == cfa_column
                         ? dwarf_get_fde_info_for_cfa_reg3_c(fde, pc, &value_type, &relevant, &base, &offset, &block,
                                                             &row_pc, &has_more, &next_pc, &error)
                         : dwarf_get_fde_info_for_reg3_c(fde, column, pc, &value_type, &relevant, &base, &offset,
                                                         &block, &row_pc, &has_more, &next_pc, &error);
  const auto block_bytes = std::span(static_cast<const std::byte*>(block.bl_data), block.bl_len);
#else
  Dwarf_Signed relevant = 0, base = 0, offset = 0;
  Dwarf_Ptr block = nullptr;
  const int status = column == cfa_column
                         ? dwarf_get_fde_info_for_cfa_reg3_b(fde, pc, &value_type, &relevant, &base, &offset, &block,
                                                             &row_pc, &has_more, &next_pc, &error)
                         : dwarf_get_fde_info_for_reg3_b(fde, column, pc, &value_type, &relevant, &base, &offset,
                                                         &block, &row_pc, &has_more, &next_pc, &error);
  // For an expression this generation gives the block's length where an offset stands otherwise.
  const auto block_bytes =
      std::span(static_cast<const std::byte*>(block), static_cast<std::size_t>(block != nullptr ? offset : 0));
#endif
  if (status == DW_DLV_ERROR && table_size < largest_table_size) {
    dwarf_dealloc_error(debug, error);
    table_size = largest_table_size;
    close();
    open();
    return ask(fde_index, column, pc);
  }
  check(status, error, table.fdes[fde_index].section_offset);
  rule.kind = static_cast<EvaluatedRule::Kind>(value_type);
  const bool is_expression =
      rule.kind == EvaluatedRule::Kind::Expression || rule.kind == EvaluatedRule::Kind::ValExpression;
  rule.offset_relevant = relevant != 0;
  rule.base = static_cast<std::uint64_t>(base);
  if (has_more != 0) rule.next_row_pc = next_pc;
  if (is_expression) {
    rule.block = block_bytes;
  } else {
    rule.offset = offset;
  }
  return rule;
}

DwarfSession::DwarfSession(cfi::FrameSection kind, std::span<const std::byte> section_bytes,
                           std::uint64_t section_address, Endian endian, const Origin& origin) {
  CheckedFrameSection checked = check_frame_section(kind, section_bytes, endian, origin);
  const auto edited = readable_copy(kind, section_bytes, endian, checked);
  if (edited) section_bytes = *edited;
  handle_ = std::make_unique<Handle>(kind, section_bytes.first(checked.used), section_address, endian);
  handle_->table.origin = origin;
  handle_->table.endian = endian;
  handle_->table.section_address = section_address;
  handle_->table.section_bytes = section_bytes;
  handle_->edited = edited;
  handle_->checked = std::move(checked);
  if (handle_->checked.used == 0) return;
  handle_->open();
  handle_->read_cies();
  handle_->read_fdes();
}

void skip_bookkeeping_of_libdwarf() {
  dwarf_set_de_alloc_flag(0);
}

DwarfSession::~DwarfSession() = default;
DwarfSession::DwarfSession(DwarfSession&&) noexcept = default;
DwarfSession& DwarfSession::operator=(DwarfSession&&) noexcept = default;

const cfi::FrameTable& DwarfSession::table() const {
  return handle_->table;
}
void DwarfSession::release_memory() {
  if (handle_->debug == nullptr) return;
  handle_->remembered.clear();
  handle_->close();
  handle_->open();
}

EvaluatedRule DwarfSession::evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) const {
  return handle_->evaluate(fde_index, column, pc);
}

FdeIndex::FdeIndex(const DwarfSession& session, const elf::Image& image) : session_(&session) {
  const auto& fdes = session.table().fdes;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < fdes.size(); ++i) {
    const cfi::Fde& fde = fdes[i];
    const std::uint64_t size = std::min(fde.function_size, image.code_left(fde.function_start));
    if (size == 0) continue;
    const std::uint64_t end = fde.function_start + size;
    highest_end = std::max(highest_end, end);
    described_.push_back({{fde.function_start, end}, highest_end, i});
    boundaries_.insert(boundaries_.end(), {fde.function_start, end});
  }
  std::sort(boundaries_.begin(), boundaries_.end());
}

std::vector<std::size_t> FdeIndex::fdes_at(std::uint64_t pc) const {
  std::vector<std::size_t> found;
  auto it = std::ranges::upper_bound(described_, pc, {}, [](const Described& fde) { return fde.range.begin; });
  while (it != described_.begin() && std::prev(it)->highest_end > pc) {
    --it;
    if (pc < it->range.end) found.push_back(it->index);
  }
  return found;
}

std::uint64_t FdeIndex::boundary_after(std::uint64_t pc) const {
  const auto it = std::upper_bound(boundaries_.begin(), boundaries_.end(), pc);
  return it == boundaries_.end() ? std::numeric_limits<std::uint64_t>::max() : *it;
}

void FdeIndex::add_ranges(std::vector<Range>& ranges) const {
  for (const Described& fde : described_) ranges.push_back(fde.range);
}

}  // namespace sframe_gen::verify
