#include "sframe_gen/view.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "sframe/parser.hpp"
#include "sframe/problem_texts.hpp"
#include "sframe/section_walk.hpp"

namespace sframe_gen::sframe {
namespace {

/// Takes the first fault of a section.
struct FirstFault {
  const Header& header;
  ViewFault found;

  bool fault(const Fault& fault) {
    // GNU as writes it for a CFI directive after the last instruction; it covers nothing.
    if (fault.problem == Problem::RowAtEnd) return true;
    found = {fault.problem, header.offset_of(fault.at)};
    return false;
  }
  bool operator()(const Fault& one) { return fault(one); }
  void function(const FdeFields&) {}
  void row(const FreFields&, const RecoveryRules*) {}
  void end(const FdeFields&, const std::byte*) {}
};

constexpr std::uint32_t no_function = 0xffffffff;
constexpr std::uint64_t after_all = ~std::uint64_t{0};

/// One of a function's rows.
struct RowPlace {
  const std::byte* at = nullptr;
  std::uint32_t number = 0;
};

/// Where the look-ups of one page of code begin: the last function that starts at or before the page's first byte, or
/// the first of all, and of its rows the one that holds there. In 8 bytes, two to a PageSlot, so that more of the table
/// is in a near cache.
struct PageStart {
  static constexpr unsigned function_bits = 24, row_bits = 28, number_bits = 12;
  static constexpr std::uint64_t most_functions = std::uint64_t{1} << function_bits;
  static constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << row_bits;
  static constexpr std::uint32_t largest_number = (1U << number_bits) - 1;
  static constexpr std::size_t size = 8;  ///< bytes
  static constexpr std::size_t per_slot = sizeof(PageSlot) / size;

  std::uint32_t function = no_function;
  std::uint32_t row = 0;         ///< offset in the row sub-section
  std::uint32_t row_number = 0;  ///< of the function's rows
};

/// Slots need the alignment of 32 bits only.
PageStart page_start(const PageSlot* slots, std::uint64_t page) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(slots) + page * PageStart::size, PageStart::size);
  return {static_cast<std::uint32_t>(word >> (PageStart::row_bits + PageStart::number_bits)),
          static_cast<std::uint32_t>(word >> PageStart::number_bits & (PageStart::most_row_bytes - 1)),
          static_cast<std::uint32_t>(word & PageStart::largest_number)};
}

void set_page_start(PageSlot* slots, std::uint64_t page, const PageStart& start) {
  const std::uint64_t word = std::uint64_t{start.function} << (PageStart::row_bits + PageStart::number_bits) |
                             std::uint64_t{start.row} << PageStart::number_bits | start.row_number;
  std::memcpy(reinterpret_cast<std::byte*>(slots) + page * PageStart::size, &word, PageStart::size);
}

/// The code from the first function's first byte to the last one's last: its functions are in order.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;  ///< bytes; 0: there can be no table

  /// Returns the number of pages of code, and one more that says where the last page's functions end.
  std::uint64_t pages(unsigned shift) const { return size == 0 ? 0 : ((size - 1) >> shift) + 2; }
  std::uint64_t slots(unsigned shift) const { return (pages(shift) + PageStart::per_slot - 1) / PageStart::per_slot; }
};

/// Returns how many slots a table may have, whatever extent a section claims: a few bytes of it can say that two
/// functions are 2^47 bytes apart. A table is as large as index and rows together, and some more, at most. Real ones
/// are smaller: a function of a few hundred bytes has 16 in the index, and 8 in the table for each 512 of code.
std::uint64_t most_slots(const SectionFields& fields) {
  constexpr std::uint64_t least = 64;
  return least + fields.count + fields.rows_size / sizeof(PageSlot);
}

/// From a PC to its function, and on to the row.
class FunctionSearch {
 public:
  explicit FunctionSearch(const SectionFields& fields) : fields_(fields), reader_(fields) {}

  Lookup row_of(std::uint64_t pc) const {
    Lookup found;
    PageStart page;
    const std::uint32_t function = function_of(pc, page);
    if (function == no_function) return found;
    const FdeFields fde = reader_.fde_at(function);
    found.descriptor = function;
    found.function_start = fde.start;
    found.function_size = fde.size;
    found.kind = Lookup::Kind::Outermost;
    // GNU as writes one for a function that it cannot describe (section 1.2 of the format).
    const bool outermost_throughout = reader_.version().splits_descriptor && fde.first_row != nullptr &&
                                      fde.row_count == 0 && fde.info2.fde_type() == 0;
    if (outermost_throughout) return found;
    const bool from_page = page.function == function;
    const RowPlace from = from_page ? RowPlace{fields_.rows + page.row, page.row_number} : RowPlace{fde.first_row, 0};
    FreFields fre;
    found.kind = row_in(fde, pc - fde.start, from, fre, found.row_number);
    if (found.kind == Lookup::Kind::Nothing) return {};  // before the function's first row
    if (found.kind == Lookup::Kind::Row) read_rules(fde, fre, found);
    return found;
  }

  /// Returns up to where the look-up of `pc` comes to the same.
  std::uint64_t end_of_stretch(std::uint64_t pc) const {
    if (fields_.count == 0) return after_all;
    PageStart unused;
    const std::uint32_t function = function_of(pc, unused);
    if (function == no_function) return next_function(pc);
    const std::uint64_t end = end_in_function(reader_.fde_at(function), pc);
    // In an index that is not sorted, a function that comes first may start inside another.
    return is_sorted() ? end : std::min(end, next_function(pc));
  }

  Extent extent() const {
    constexpr std::uint64_t largest = std::uint64_t{1} << 48U;  // bytes: no address space has more
    if (fields_.count == 0 || !is_sorted()) return {};
    if (fields_.count > PageStart::most_functions || fields_.rows_size >= PageStart::most_row_bytes) return {};
    const std::uint64_t begin = reader_.start_of(0);
    // Functions of no bytes may follow the last one that has some, or be inside it.
    const std::uint32_t last = last_with_bytes(fields_.count - 1);
    const std::uint64_t end = reader_.start_of(last) + reader_.size_of(last);
    return {begin, end > begin && end - begin <= largest ? end - begin : 0};
  }

  void fill_pages(Extent extent, unsigned shift, PageSlot* slots) const {
    const std::uint64_t pages = extent.pages(shift);
    std::uint64_t page = 0;
    for (std::uint32_t number = 0; number < fields_.count && page < pages; ++number) {
      const bool is_last = number + 1 == fields_.count;
      const std::uint64_t end = is_last ? after_all : reader_.start_of(number + 1) - extent.begin;
      if (page << shift >= end) continue;
      // The pages that start in this function, or between it and the next one.
      const FdeFields fde = reader_.fde_at(number);
      const std::uint64_t start = fde.start - extent.begin;
      const bool has_rows = fde.first_row != nullptr && fde.info.pc_type() == PcType::Increment;
      RowPlace row{fde.first_row, 0};
      RowPlace kept = row;  // an earlier one is right as well
      for (; page < pages && page << shift < end; ++page) {
        if (has_rows) row = last_row_before(fde, (page << shift) - start, row);
        if (row.number <= PageStart::largest_number) kept = row;
        const auto at = fde.first_row != nullptr ? static_cast<std::uint32_t>(kept.at - fields_.rows) : 0;
        set_page_start(slots, page, {number, at, kept.number});
      }
    }
  }

 private:
  bool is_sorted() const { return (fields_.flags & flag::sorted) != 0; }

  bool covers(std::uint32_t function, std::uint64_t pc) const {
    const std::uint64_t start = reader_.start_of(function);
    return pc >= start && pc - start < reader_.size_of(function);
  }

  /// Returns the function that holds `pc`. In a sorted index with a page table, `page` becomes that of `pc`.
  std::uint32_t function_of(std::uint64_t pc, PageStart& page) const {
    if (fields_.count == 0) return no_function;
    if (!is_sorted()) {
      for (std::uint32_t function = 0; function < fields_.count; ++function)
        if (covers(function, pc)) return function;
      return no_function;
    }
    std::uint32_t last = 0;
    if (fields_.pages == nullptr) {
      last = last_start(0, fields_.count, pc);
    } else {
      const std::uint64_t distance = pc - fields_.pages_begin;
      if (distance >= fields_.pages_size) return no_function;
      const std::uint64_t number = distance >> fields_.page_shift;
      page = page_start(fields_.pages, number);
      // Otherwise they would be asked for only once the descriptor is there.
      __builtin_prefetch(fields_.rows + page.row);
      last = last_start(page.function, page_start(fields_.pages, number + 1).function - page.function + 1, pc);
    }
    last = last_with_bytes(last);
    return covers(last, pc) ? last : no_function;
  }

  /// Returns the last of `count` functions from `first` on, in a sorted index, that starts at or before `pc`; `first`
  /// if none does.
  std::uint32_t last_start(std::uint32_t first, std::uint32_t count, std::uint64_t pc) const {
    while (count > 1) {
      const std::uint32_t half = count / 2;
      // No branch, which would be guessed wrong every other time.
      first += reader_.start_of(first + half) <= pc ? half : 0;
      count -= half;
    }
    return first;
  }

  /// A function of no bytes may share its start with a real one, or be inside it; it holds no PC.
  std::uint32_t last_with_bytes(std::uint32_t function) const {
    while (function != 0 && reader_.size_of(function) == 0) --function;
    return function;
  }

  /// Returns where the next function after `pc` starts.
  std::uint64_t next_function(std::uint64_t pc) const {
    std::uint64_t next = after_all;
    if (is_sorted()) {
      std::uint32_t function = last_start(0, fields_.count, pc);
      if (reader_.start_of(function) <= pc) ++function;
      return function < fields_.count ? reader_.start_of(function) : next;
    }
    for (std::uint32_t function = 0; function < fields_.count; ++function) {
      const std::uint64_t start = reader_.start_of(function);
      if (start > pc) next = std::min(next, start);
    }
    return next;
  }

  /// Finds the row of a function that holds `pc_offset` bytes after its start: `Nothing` before the first. The search
  /// begins at `from`, which is the first row or any other one that starts at or before `pc_offset`.
  Lookup::Kind row_in(const FdeFields& fde, std::uint64_t pc_offset, RowPlace from, FreFields& found,
                      std::uint32_t& row_number) const {
    if (fde.first_row == nullptr) return Lookup::Kind::Damaged;
    if (fde.info.pc_type() == PcType::Mask) {
      if (!reader_.version().has_repeat_size) return row_by_bit_mask(fde, pc_offset, found, row_number);
      if (fde.repeat_size == 0) return Lookup::Kind::Damaged;
      pc_offset %= fde.repeat_size;
    }
    switch (fde.start_width) {
      case 1:
        return scan<std::uint8_t>(fde, pc_offset, from, found, row_number);
      case 2:
        return scan<std::uint16_t>(fde, pc_offset, from, found, row_number);
      case 4:
        return scan<std::uint32_t>(fde, pc_offset, from, found, row_number);
      default:
        return Lookup::Kind::Damaged;
    }
  }

  template <std::unsigned_integral Start>
  Lookup::Kind scan(const FdeFields& fde, std::uint64_t pc_offset, RowPlace from, FreFields& found,
                    std::uint32_t& row_number) const {
    auto at = static_cast<std::uint64_t>(from.at - fields_.rows);
    std::uint64_t last = at;
    std::uint32_t i = from.number;
    std::uint64_t stride = 0;
    unsigned info_of_stride = 0x100;  // no row's
    for (; i < fde.row_count; ++i) {
      if (at + sizeof(Start) + 1 > fields_.rows_size) return Lookup::Kind::Damaged;
      if (reader_.read<Start>(fields_.rows + at) > pc_offset) break;
      last = at;
      const auto info = reader_.read<std::uint8_t>(fields_.rows + at + sizeof(Start));
      // Neighbors are mostly alike. Guessed so, the next row's place does not wait for this one's bytes.
      if (info != info_of_stride) [[unlikely]] {
        info_of_stride = info;
        const FreInfo row(info);
        stride = sizeof(Start) + 1 + (std::uint64_t{row.word_count()} << row.word_width());
      }
      at += stride;
    }
    if (i == from.number) return Lookup::Kind::Nothing;
    row_number = i - 1;
    return reader_.read_row(sizeof(Start), fields_.rows + last, found) ? Lookup::Kind::Row : Lookup::Kind::Damaged;
  }

  /// CTF Frame and version 1: of the rows that match, the last one holds.
  Lookup::Kind row_by_bit_mask(const FdeFields& fde, std::uint64_t pc_offset, FreFields& found,
                               std::uint32_t& row_number) const {
    if (fde.start_width == 0) return Lookup::Kind::Damaged;
    Lookup::Kind kind = Lookup::Kind::Nothing;
    const std::byte* at = fde.first_row;
    FreFields row;
    for (std::uint32_t i = 0; i < fde.row_count; ++i, at = row.next) {
      if (!reader_.read_row(fde.start_width, at, row)) return Lookup::Kind::Damaged;
      if ((pc_offset & row.start) < row.start) continue;
      found = row;
      row_number = i;
      kind = Lookup::Kind::Row;
    }
    return kind;
  }

  /// Reads the rules of a row, and adds what they leave to the ABI.
  void read_rules(const FdeFields& fde, const FreFields& fre, Lookup& found) const {
    if (fre.info.word_count() == 0) {
      found.kind = reader_.version().has_repeat_size ? Lookup::Kind::Outermost : Lookup::Kind::Damaged;
      return;
    }
    const AbiTraits& abi = *fields_.abi;
    found.b_key = fde.info.b_key();
    found.signal_frame = reader_.version().marks_signal_frames && fde.info.signal_frame();
    if (!reader_.read_rules(fde, fre, found.row, [](const Fault&) { return false; }))
      found.kind = Lookup::Kind::Damaged;
    if (!found.row.return_address) {
      found.row.return_address =
          abi.fixed_ra_offset != 0 ? Rule::at_cfa(abi.fixed_ra_offset) : Rule::in_register(abi.return_address);
    }
    if (!found.row.frame_pointer) found.row.frame_pointer = Rule::in_register(abi.frame_pointer);
  }

  /// Returns the last row of a function whose stored start is at most `pc_offset`, searched from `from` on; `from` if
  /// there is none. Not for functions whose row starts are bit masks.
  RowPlace last_row_before(const FdeFields& fde, std::uint64_t pc_offset, RowPlace from) const {
    FreFields row;
    RowPlace last = from;
    for (RowPlace at = from; at.number < fde.row_count; at = {row.next, at.number + 1}) {
      if (fde.start_width == 0 || !reader_.read_row(fde.start_width, at.at, row) || row.start > pc_offset) break;
      last = at;
    }
    return last;
  }

  /// Returns the stored start of a function's first row after `pc_offset`; 2^64 - 1 if there is none. Not for functions
  /// whose row starts are bit masks.
  std::uint64_t next_row_start(const FdeFields& fde, std::uint64_t pc_offset) const {
    FreFields row;
    const std::byte* at = fde.first_row;
    for (std::uint32_t i = 0; i < fde.row_count && fde.start_width != 0; ++i, at = row.next) {
      if (!reader_.read_row(fde.start_width, at, row)) break;
      if (row.start > pc_offset) return row.start;
    }
    return after_all;
  }

  /// Returns where the row that holds at `pc` ends, or the stretch before the function's first row.
  std::uint64_t end_in_function(const FdeFields& fde, std::uint64_t pc) const {
    const std::uint64_t end = fde.start + fde.size;
    const std::uint64_t offset = pc - fde.start;
    if (fde.first_row == nullptr) return end;
    if (fde.info.pc_type() != PcType::Mask) {
      const std::uint64_t distance = next_row_start(fde, offset) - offset;
      return distance < end - pc ? pc + distance : end;
    }
    // Where rows are chosen by bits of the PC, any PC may have another one.
    if (!reader_.version().has_repeat_size || fde.repeat_size == 0) return pc + 1;
    const std::uint64_t in_block = offset % fde.repeat_size;
    const std::uint64_t next = std::min<std::uint64_t>(next_row_start(fde, in_block), fde.repeat_size);
    return std::min(end, pc + (next - in_block));
  }

  const SectionFields& fields_;
  SectionReader reader_;
};

}  // namespace

const SectionFields& SectionView::fields() const noexcept {
  static_assert(sizeof(SectionFields) == sizeof fields_ && alignof(SectionFields) <= 8);
  static_assert(std::is_trivially_copyable_v<SectionFields>);
  return *std::launder(reinterpret_cast<const SectionFields*>(fields_));
}

ViewFault SectionView::open(std::span<const std::byte> bytes, std::uint64_t address, Family family,
                            ViewCheck check) noexcept {
  is_open_ = false;
  Header header;
  FirstFault first{header, {}};
  if (!read_header(bytes, address, family, first, header)) return first.found;
  if (check == ViewCheck::Everything && !SectionWalk(header, first).run()) return first.found;
  ::new (static_cast<void*>(fields_)) SectionFields(header.fields);
  is_open_ = true;
  return {};
}

Lookup SectionView::lookup(std::uint64_t pc) const noexcept {
  if (!is_open_) return {};
  return FunctionSearch(fields()).row_of(pc);
}

Lookup SectionView::lookup_stretch(std::uint64_t pc, std::uint64_t& end) const noexcept {
  end = after_all;
  if (!is_open_ || pc == after_all) return {};
  // In a damaged section that was not checked the end may be anything; the caller's loop must still advance.
  end = std::max(pc + 1, FunctionSearch(fields()).end_of_stretch(pc));
  return lookup(pc);
}

std::uint64_t SectionView::page_slots(std::uint64_t page_size) const noexcept {
  if (!is_open_ || page_size == 0) return 0;
  const std::uint64_t wanted =
      FunctionSearch(fields()).extent().slots(static_cast<unsigned>(std::countr_zero(page_size)));
  return std::min(wanted, most_slots(fields()));
}

void SectionView::use_pages(std::span<PageSlot> slots) noexcept {
  constexpr std::uint8_t smallest_shift = 8;
  if (!is_open_) return;
  SectionFields changed = fields();
  changed.pages = nullptr;
  const Extent extent = FunctionSearch(changed).extent();
  if (!slots.empty() && extent.size != 0) {
    const std::uint64_t usable = std::min<std::uint64_t>(slots.size(), most_slots(fields()));
    std::uint8_t shift = smallest_shift;
    while (extent.slots(shift) > usable) ++shift;
    FunctionSearch(changed).fill_pages(extent, shift, slots.data());
    changed.pages = slots.data();
    changed.pages_begin = extent.begin;
    changed.pages_size = extent.size;
    changed.page_shift = shift;
  }
  ::new (static_cast<void*>(fields_)) SectionFields(changed);
}

Version SectionView::version() const noexcept {
  return is_open_ ? fields().version : Version::V3;
}

Abi SectionView::abi() const noexcept {
  return is_open_ ? fields().abi->abi : default_abi.abi;
}

Endian SectionView::endian() const noexcept {
  return is_open_ ? fields().endian : Endian::Little;
}

std::uint8_t SectionView::flags() const noexcept {
  return is_open_ ? fields().flags : std::uint8_t{0};
}

std::uint32_t SectionView::function_count() const noexcept {
  return is_open_ ? fields().count : 0;
}

const char* text_of(Problem problem) noexcept {
  return text_for(problem).plain;
}

}  // namespace sframe_gen::sframe
