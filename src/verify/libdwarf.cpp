#include "verify/libdwarf.hpp"

#include <dlfcn.h>
#include <dwarf.h>
#include <libdwarf.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "verify/frame_sections.hpp"

namespace sframe_gen::verify {

namespace {

/// An object file to libdwarf: section 0, which is empty, and section 1, one of CFI. libdwarf never sees the ELF file.
struct ObjectOfOneSection {
  const char* name;
  std::span<const std::byte> bytes;
  std::uint64_t address;
  Endian endian;
};

const ObjectOfOneSection& section_of(void* object) {
  return *static_cast<const ObjectOfOneSection*>(object);
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

template <typename Index>
int load_section(void* object, Index index, Dwarf_Small** data, int* /*error*/) {
  if (index != 1) return DW_DLV_NO_ENTRY;
  // libdwarf takes a pointer to non-const, and writes to it only to relocate, which is not asked for.
  *data = reinterpret_cast<Dwarf_Small*>(const_cast<std::byte*>(section_of(object).bytes.data()));
  return DW_DLV_OK;
}

/// Output of libdwarf for a column of a row. `Number` and `Block` differ between the generations.
template <typename Number, typename Block>
struct RawRule {
  Dwarf_Small kind = 0;
  Number offset_relevant = 0, base = 0;
  Dwarf_Signed offset = 0;
  Block block{};
  Dwarf_Addr row_pc = 0, next_pc = 0;
  Dwarf_Bool has_more = 0;
};

std::span<const std::byte> as_bytes(const void* data, Dwarf_Unsigned size) {
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

// Two generations of one interface: 0.4 and later, and 20210528 (Debian 12). The calls are the same, the types are not.
#if SFRAME_GEN_LIBDWARF_INTERFACE_A

using ObjectInterface = Dwarf_Obj_Access_Interface_a;
using BytePointer = Dwarf_Small*;
using Rule = RawRule<Dwarf_Unsigned, Dwarf_Block>;
constexpr auto rule_of_cfa = dwarf_get_fde_info_for_cfa_reg3_c;
constexpr auto rule_of_register = dwarf_get_fde_info_for_reg3_c;

std::span<const std::byte> block_of(const Rule& rule) {
  return as_bytes(rule.block.bl_data, rule.block.bl_len);
}

int section_info(void* object, Dwarf_Unsigned index, Dwarf_Obj_Access_Section_a* result, int* /*error*/) {
  *result = {};
  result->as_name = "";
  if (index > 1) return DW_DLV_NO_ENTRY;
  if (index == 0) return DW_DLV_OK;
  result->as_name = section_of(object).name;
  result->as_addr = section_of(object).address;
  result->as_size = section_of(object).bytes.size();
  result->as_type = 1;
  return DW_DLV_OK;
}

Dwarf_Small byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_END_big : DW_END_little;
}

Dwarf_Unsigned file_size(void* object) {
  return section_of(object).bytes.size();
}

constexpr Dwarf_Obj_Access_Methods_a methods{section_info, byte_order,    four,         eight,
                                             file_size,    section_count, load_section, nullptr};

void finish(Dwarf_Debug debug, Dwarf_Cie* cies, Dwarf_Signed cie_count, Dwarf_Fde* fdes, Dwarf_Signed fde_count) {
  dwarf_dealloc_fde_cie_list(debug, cies, cie_count, fdes, fde_count);
  dwarf_object_finish(debug);
}

#else

using ObjectInterface = Dwarf_Obj_Access_Interface;
using BytePointer = Dwarf_Ptr;
using Rule = RawRule<Dwarf_Signed, Dwarf_Ptr>;
constexpr auto rule_of_cfa = dwarf_get_fde_info_for_cfa_reg3_b;
constexpr auto rule_of_register = dwarf_get_fde_info_for_reg3_b;

/// For an expression this generation gives the block's length in place of the offset.
std::span<const std::byte> block_of(const Rule& rule) {
  return as_bytes(rule.block, rule.block != nullptr ? static_cast<Dwarf_Unsigned>(rule.offset) : 0);
}

int section_info(void* object, Dwarf_Half index, Dwarf_Obj_Access_Section* result, int* /*error*/) {
  *result = {};
  result->name = "";
  if (index > 1) return DW_DLV_NO_ENTRY;
  if (index == 0) return DW_DLV_OK;
  result->name = section_of(object).name;
  result->addr = section_of(object).address;
  result->size = section_of(object).bytes.size();
  result->type = 1;
  return DW_DLV_OK;
}

Dwarf_Endianness byte_order(void* object) {
  return section_of(object).endian == Endian::Big ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

constexpr Dwarf_Obj_Access_Methods methods{section_info, byte_order, four, eight, section_count, load_section, nullptr};

void finish(Dwarf_Debug debug, Dwarf_Cie* cies, Dwarf_Signed cie_count, Dwarf_Fde* fdes, Dwarf_Signed fde_count) {
  if (fdes != nullptr) dwarf_fde_cie_list_dealloc(debug, cies, cie_count, fdes, fde_count);
  Dwarf_Error error = nullptr;
  dwarf_object_finish(debug, &error);
}

#endif

/// Returns libdwarf's words for an error. libdw of elfutils exports another dwarf_errmsg(), which a call from a shared
/// library reaches if the program has loaded libdw first. So libdwarf is asked for its own: the shared library that has
/// a function which libdw does not have. There is none if libdwarf is linked statically, and a call reaches it.
std::string text_of(Dwarf_Error error) {
  auto message = dwarf_errmsg;
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(rule_of_cfa), &library) != 0) {
    if (void* const loaded = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
      if (void* const own = dlsym(loaded, "dwarf_errmsg")) message = reinterpret_cast<decltype(message)>(own);
      dlclose(loaded);
    }
  }
  return message(error);
}

// libdwarf refuses rules for registers beyond its table, and fills the whole table for every row asked for.
constexpr Dwarf_Half usual_table_size = usual_registers;
constexpr Dwarf_Half largest_table_size = most_registers;

}  // namespace

/// Stays where it is: libdwarf keeps pointers to it.
class DwarfSession::Handle {
 public:
  Handle(CfiKind kind, std::span<const std::byte> bytes, std::uint64_t address, Endian endian,
         const InputOrigin& origin)
      : kind_(kind),
        checked_(check_frame_section(kind, bytes, address, endian, origin)),
        edited_(readable_copy(kind, bytes, endian, checked_)) {
    if (edited_) bytes = *edited_;
    table.kind = kind;
    table.origin = origin;
    table.endian = endian;
    table.section_address = address;
    table.section_bytes = bytes;
    const char* const name = kind == CfiKind::EhFrame ? ".eh_frame" : ".debug_frame";
    section_ = {name, bytes.first(checked_.used), address, endian};
  }
  ~Handle() { close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Apart from the constructor, as it may throw when libdwarf has memory to give back.
  void read() {
    if (checked_.used == 0) return;
    open();
    read_cies();
    read_fdes();
    add_unsupported();
    sort_fdes();
  }

  void open_again() {
    if (debug_ == nullptr) return;
    answers_.clear();
    close();
    open();
  }

  EvaluatedRule evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) {
    if (fde_index != answered_fde_ || !answered_pcs_.contains(pc)) {
      answers_.clear();
      answered_fde_ = fde_index;
    }
    const auto asked_before = std::ranges::find(answers_, column, &ColumnRule::column);
    if (asked_before != answers_.end()) return asked_before->rule;
    const EvaluatedRule rule = ask(fde_index, column, pc);
    // Only the first question makes libdwarf run the instructions; with a second one at the same PC it says nothing of
    // the next row. Neither does it in the last row.
    if (answers_.empty()) answered_pcs_ = {pc, rule.next_row_pc && *rule.next_row_pc > pc ? *rule.next_row_pc : pc + 1};
    answers_.push_back({column, rule});
    return rule;
  }

  DwarfTable table;

 private:
  struct ColumnRule {
    std::uint16_t column;
    EvaluatedRule rule;
  };

  void close() {
    if (debug_ != nullptr) finish(debug_, cies_, cie_count_, fdes_, fde_count_);
    debug_ = nullptr;
    fdes_ = nullptr;
  }

  /// Throws what libdwarf says, at `offset`.
  [[noreturn]] void fail(Dwarf_Error error, std::uint64_t offset) const {
    const std::string why = error != nullptr ? text_of(error) : "no entry";
    // Errors are blocks like any other, and libdwarf was told not to remember its blocks.
    if (error != nullptr) dwarf_dealloc_error(debug_, error);
    throw MalformedInput(table.origin, offset, "libdwarf cannot read it: " + why);
  }

  void check(int status, Dwarf_Error error, std::uint64_t offset) const {
    if (status != DW_DLV_OK) fail(error, offset);
  }

  void open() {
    Dwarf_Error error = nullptr;
    check(dwarf_object_init_b(&interface_, nullptr, nullptr, DW_GROUPNUMBER_ANY, &debug_, &error), error, 0);
    dwarf_set_frame_rule_table_size(debug_, table_size_);
    dwarf_set_frame_cfa_value(debug_, cfa_column);
    dwarf_set_frame_undefined_value(debug_, undefined_column);
    dwarf_set_frame_same_value(debug_, same_value_column);
    // No rule reads as "same value": libdwarf takes only this or "undefined" from 0.9 on.
    dwarf_set_frame_rule_initial_value(debug_, same_value_column);
    const auto list = kind_ == CfiKind::EhFrame ? dwarf_get_fde_list_eh : dwarf_get_fde_list;
    const int status = list(debug_, &cies_, &cie_count_, &fdes_, &fde_count_, &error);
    if (status == DW_DLV_ERROR) fail(error, 0);
  }

  /// Asks libdwarf for the numbers of each CIE; the augmentation may have been edited for it.
  void read_cies() {
    for (Dwarf_Signed i = 0; i < cie_count_; ++i) {
      Dwarf_Unsigned size = 0, code_alignment = 0, instructions_size = 0;
      Dwarf_Signed data_alignment = 0;
      Dwarf_Small version = 0;
      Dwarf_Half return_address = 0, offset_size = 0;
      char* augmentation = nullptr;
      BytePointer instructions = nullptr;
      Dwarf_Off offset = 0;
      Dwarf_Error error = nullptr;
      check(dwarf_get_cie_info_b(cies_[i], &size, &version, &augmentation, &code_alignment, &data_alignment,
                                 &return_address, &instructions, &instructions_size, &offset_size, &error),
            error, 0);
      check(dwarf_cie_section_offset(debug_, cies_[i], &offset, &error), error, 0);
      DwarfCie& cie = table.cies.emplace_back();
      cie.code_alignment = code_alignment;
      cie.initial_instructions = without_hidden(checked_, offset, as_bytes(instructions, instructions_size));
      const auto checked = checked_.cies.find(offset);
      if (checked == checked_.cies.end() || !checked->second) continue;
      cie.pointer_encoding = checked->second->pointer_encoding;
      cie.signal_frame = checked->second->signal_frame;
      cie.b_key = checked->second->b_key;
    }
  }

  void read_fdes() {
    table.fdes.reserve(static_cast<std::size_t>(fde_count_));
    for (Dwarf_Signed i = 0; i < fde_count_; ++i) table.fdes.push_back(read_fde(fdes_[i]));
  }

  /// FDEs that libdwarf never sees come after its own. They cannot be evaluated, so nothing of their CIE counts.
  void add_unsupported() {
    if (checked_.unsupported.empty()) return;
    const auto cie = static_cast<std::uint32_t>(table.cies.size());
    table.cies.emplace_back();
    for (const CheckedFrameSection::UnsupportedFde& fde : checked_.unsupported)
      table.fdes.push_back({fde.code.begin, fde.code.size(), fde.offset, cie, {}});
  }

  /// libdwarf sorts by start alone; where two FDEs share one, the order must not depend on its sort.
  void sort_fdes() {
    const auto before = [](const DwarfFde& a, const DwarfFde& b) {
      return std::pair(a.function_start, a.section_offset) < std::pair(b.function_start, b.section_offset);
    };
    if (std::is_sorted(table.fdes.begin(), table.fdes.end(), before)) return;
    order_.resize(table.fdes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return before(table.fdes[a], table.fdes[b]); });
    std::sort(table.fdes.begin(), table.fdes.end(), before);
  }

  DwarfFde read_fde(Dwarf_Fde fde) const {
    Dwarf_Addr start = 0;
    Dwarf_Unsigned size = 0, record_size = 0, instructions_size = 0;
    BytePointer record = nullptr, instructions = nullptr;
    Dwarf_Off cie_offset = 0, fde_offset = 0;
    Dwarf_Signed cie_index = 0;
    Dwarf_Error error = nullptr;
    check(dwarf_get_fde_range(fde, &start, &size, &record, &record_size, &cie_offset, &cie_index, &fde_offset, &error),
          error, 0);
    check(dwarf_get_fde_instr_bytes(fde, &instructions, &instructions_size, &error), error, fde_offset);
    if (cie_index < 0 || cie_index >= cie_count_) {
      throw MalformedInput(table.origin, fde_offset, "FDE has no CIE in the section");
    }
    return {start, size, fde_offset, static_cast<std::uint32_t>(cie_index),
            without_hidden(checked_, fde_offset, as_bytes(instructions, instructions_size))};
  }

  /// libdwarf runs the FDE's instructions from its start for each PC, so a row is asked for once.
  EvaluatedRule ask(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) {
    const std::size_t number = order_.empty() ? fde_index : order_[fde_index];
    const auto count = static_cast<std::size_t>(fde_count_);
    if (number >= count)
      throw MalformedInput(table.origin, table.fdes[fde_index].section_offset,
                           checked_.unsupported[number - count].why);
    Dwarf_Fde fde = fdes_[number];
    Rule raw;
    Dwarf_Error error = nullptr;
    const int status = column == cfa_column
                           ? rule_of_cfa(fde, pc, &raw.kind, &raw.offset_relevant, &raw.base, &raw.offset, &raw.block,
                                         &raw.row_pc, &raw.has_more, &raw.next_pc, &error)
                           : rule_of_register(fde, column, pc, &raw.kind, &raw.offset_relevant, &raw.base, &raw.offset,
                                              &raw.block, &raw.row_pc, &raw.has_more, &raw.next_pc, &error);
    if (status == DW_DLV_ERROR && table_size_ < largest_table_size) {
      dwarf_dealloc_error(debug_, error);
      table_size_ = largest_table_size;
      close();
      open();
      return ask(fde_index, column, pc);
    }
    check(status, error, table.fdes[fde_index].section_offset);
    EvaluatedRule rule;
    rule.kind = static_cast<EvaluatedRule::Kind>(raw.kind);
    rule.offset_relevant = raw.offset_relevant != 0;
    rule.base = static_cast<std::uint64_t>(raw.base);
    if (raw.has_more != 0) rule.next_row_pc = raw.next_pc;
    if (rule.kind == EvaluatedRule::Kind::Expression || rule.kind == EvaluatedRule::Kind::ValExpression) {
      rule.block = block_of(raw);
    } else {
      rule.offset = raw.offset;
    }
    return rule;
  }

  CfiKind kind_;
  CheckedFrameSection checked_;
  std::shared_ptr<const std::vector<std::byte>> edited_;  ///< holds the section where its bytes are not the file's
  ObjectOfOneSection section_{};
  ObjectInterface interface_{&section_, &methods};
  Dwarf_Debug debug_ = nullptr;
  Dwarf_Cie* cies_ = nullptr;
  Dwarf_Signed cie_count_ = 0;
  Dwarf_Fde* fdes_ = nullptr;
  Dwarf_Signed fde_count_ = 0;
  /// Table index → libdwarf's index, after which the unsupported ones come; empty: they are the same.
  std::vector<std::size_t> order_;
  Dwarf_Half table_size_ = usual_table_size;
  // Answers for one row of one FDE.
  std::vector<ColumnRule> answers_;
  std::size_t answered_fde_ = 0;
  Range answered_pcs_;
};

DwarfSession::DwarfSession(CfiKind kind, std::span<const std::byte> section_bytes, std::uint64_t section_address,
                           Endian endian, const InputOrigin& origin)
    : handle_(std::make_unique<Handle>(kind, section_bytes, section_address, endian, origin)) {
  handle_->read();
}

DwarfSession::~DwarfSession() = default;
DwarfSession::DwarfSession(DwarfSession&&) noexcept = default;
DwarfSession& DwarfSession::operator=(DwarfSession&&) noexcept = default;

const DwarfTable& DwarfSession::table() const {
  return handle_->table;
}

EvaluatedRule DwarfSession::evaluate(std::size_t fde_index, std::uint16_t column, std::uint64_t pc) const {
  return handle_->evaluate(fde_index, column, pc);
}

void DwarfSession::release_memory() {
  handle_->open_again();
}

void skip_bookkeeping_of_libdwarf() {
  dwarf_set_de_alloc_flag(0);
}

FdeIndex::FdeIndex(const DwarfSession& session, const elf::Image& image) : session_(&session) {
  const auto& fdes = session.table().fdes;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < fdes.size(); ++i) {
    const DwarfFde& fde = fdes[i];
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
  std::vector<std::size_t> fdes;
  auto it = std::ranges::upper_bound(described_, pc, {}, [](const DescribedCode& fde) { return fde.range.begin; });
  while (it != described_.begin() && std::prev(it)->highest_end > pc) {
    --it;
    if (pc < it->range.end) fdes.push_back(it->index);
  }
  return fdes;
}

std::uint64_t FdeIndex::boundary_after(std::uint64_t pc) const {
  const auto it = std::upper_bound(boundaries_.begin(), boundaries_.end(), pc);
  return it == boundaries_.end() ? std::numeric_limits<std::uint64_t>::max() : *it;
}

void FdeIndex::add_ranges(std::vector<Range>& ranges) const {
  for (const DescribedCode& fde : described_) ranges.push_back(fde.range);
}

}  // namespace sframe_gen::verify
