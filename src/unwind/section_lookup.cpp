#include <algorithm>
#include <bit>
#include <cstring>

#include "sframe_gen/view.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
namespace {

constexpr std::uint32_t no_function = 0xffffffff;
constexpr std::uint64_t after_all = ~std::uint64_t{0};

bool is_sorted(const detail::ViewFields& fields) {
  return (fields.flags & flag::sorted) != 0;
}

/// Of `count` functions from `first` on, in a sorted index, returns the last one that starts at or before `pc`;
/// `first`, if none does.
template <typename Reader>
std::uint32_t last_start(const Reader& reader, std::uint32_t first, std::uint32_t count, std::uint64_t pc) {
  while (count > 1) {
    const std::uint32_t half = count / 2;
    // No branch, which would be guessed wrong every other time.
    first += reader.start_of(first + half) <= pc ? half : 0;
    count -= half;
  }
  return first;
}

/// Returns the function that holds `pc`, if `last` is the last one that starts at or before it.
template <typename Reader>
std::uint32_t holder_of(const Reader& reader, std::uint32_t last, std::uint64_t pc) {
  // A function of no bytes may share its start with a real one, or be inside it; it holds no PC.
  while (last != 0 && reader.size_of(last) == 0) --last;
  return reader.holds(last, pc) ? last : no_function;
}

/// Returns the function that holds `pc`, in an index that is not flagged as sorted.
template <typename Reader>
std::uint32_t first_holder(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  for (std::uint32_t function = 0; function < fields.count; ++function)
    if (reader.holds(function, pc)) return function;
  return no_function;
}

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

  std::uint32_t function = 0;
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

/// A function, and the row that a scan of its rows begins at.
struct Candidate {
  std::uint32_t function = no_function;
  bool has_page = false;
  PageStart page;

  RowPlace first_row(const detail::ViewFields& fields, const ViewFunction& read) const {
    if (!has_page || page.function != function) return {read.first_row, 0};
    return {fields.rows + page.row, page.row_number};
  }
};

/// Finds the last function of a sorted index that starts at or before `pc`.
template <typename Reader>
Candidate find_by_page(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  const std::uint64_t distance = pc - fields.pages_begin;
  if (distance >= fields.pages_size) return {};
  const std::uint64_t page = distance >> fields.page_shift;
  const PageStart begin = page_start(fields.pages, page);
  // Otherwise they would be asked for only once the descriptor is there.
  __builtin_prefetch(fields.rows + begin.row);
  const std::uint32_t others = page_start(fields.pages, page + 1).function - begin.function;
  return {last_start(reader, begin.function, others + 1, pc), true, begin};
}

template <typename Reader>
Candidate find_function(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  Candidate found;
  if (fields.count == 0) return found;
  if (!is_sorted(fields)) {
    found.function = first_holder(reader, fields, pc);
    return found;
  }
  if (fields.pages != nullptr) {
    found = find_by_page(reader, fields, pc);
    if (found.function == no_function) return found;
  } else {
    found.function = last_start(reader, 0, fields.count, pc);
  }
  found.function = holder_of(reader, found.function, pc);
  return found;
}

template <typename Reader>
[[gnu::noinline]] Lookup look_up(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  Lookup found;
  const Candidate candidate = find_function(reader, fields, pc);
  if (candidate.function == no_function) return found;
  const ViewFunction function = reader.function_at(candidate.function);
  found.descriptor = candidate.function;
  found.function_start = function.start;
  found.function_size = function.size;
  // GNU as writes one for a function that it cannot describe (section 1.2 of the format).
  const bool outermost_throughout = Reader::traits.splits_descriptor && function.first_row != nullptr &&
                                    function.row_count == 0 && function.info2.fde_type() == 0;
  if (outermost_throughout) {
    found.kind = Lookup::Kind::Outermost;
    return found;
  }
  ViewFre fre;
  const RowPlace from = candidate.first_row(fields, function);
  found.kind = reader.find_row(function, pc - function.start, from, fre, found.row_number);
  if (found.kind != Lookup::Kind::Row) return found;
  switch (reader.rules_of(function, fre, found.row)) {
    case RowState::Rules:
      break;
    case RowState::Outermost:
      found.kind = Lookup::Kind::Outermost;
      break;
    case RowState::Damaged:
      found.kind = Lookup::Kind::Damaged;
      break;
  }
  return found;
}

/// Returns where the next function after `pc` starts.
template <typename Reader>
std::uint64_t next_function(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  std::uint64_t next = after_all;
  if (is_sorted(fields)) {
    std::uint32_t function = last_start(reader, 0, fields.count, pc);
    if (reader.start_of(function) <= pc) ++function;
    return function < fields.count ? reader.start_of(function) : next;
  }
  for (std::uint32_t function = 0; function < fields.count; ++function) {
    const std::uint64_t start = reader.start_of(function);
    if (start > pc) next = std::min(next, start);
  }
  return next;
}

/// Returns where the row that holds at `pc` ends, or the stretch before the function's first row.
template <typename Reader>
std::uint64_t end_in_function(const Reader& reader, const ViewFunction& function, std::uint64_t pc) {
  const std::uint64_t end = function.start + function.size;
  const std::uint64_t offset = pc - function.start;
  if (function.first_row == nullptr) return end;
  if (function.info.pc_type() != PcType::Mask) {
    const std::uint64_t distance = reader.next_row_start(function, offset) - offset;
    return distance < end - pc ? pc + distance : end;
  }
  // Where rows are chosen by bits of the PC, any PC may have another one.
  if (!Reader::traits.has_repeat_size || function.repeat_size == 0) return pc + 1;
  const std::uint64_t in_block = offset % function.repeat_size;
  const std::uint64_t next = std::min<std::uint64_t>(reader.next_row_start(function, in_block), function.repeat_size);
  return std::min(end, pc + (next - in_block));
}

template <typename Reader>
std::uint64_t end_at(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  if (fields.count == 0) return after_all;
  const std::uint32_t function = is_sorted(fields) ? holder_of(reader, last_start(reader, 0, fields.count, pc), pc)
                                                   : first_holder(reader, fields, pc);
  if (function == no_function) return next_function(reader, fields, pc);
  const std::uint64_t end = end_in_function(reader, reader.function_at(function), pc);
  // In an index that is not sorted, a function that comes first may start inside another.
  return is_sorted(fields) ? end : std::min(end, next_function(reader, fields, pc));
}

/// The code from the first function's first byte to the last one's last: its functions are in order.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;  ///< bytes; 0: there can be no table

  /// Returns the number of pages of code, and one more that says where the last page's functions end.
  std::uint64_t pages(unsigned shift) const { return size == 0 ? 0 : ((size - 1) >> shift) + 2; }
  std::uint64_t slots(unsigned shift) const { return (pages(shift) + PageStart::per_slot - 1) / PageStart::per_slot; }
};

template <typename Reader>
Extent extent_of(const Reader& reader, const detail::ViewFields& fields) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 48U;  // bytes: no address space has more
  if (fields.count == 0 || !is_sorted(fields)) return {};
  if (fields.count > PageStart::most_functions || fields.rows_size >= PageStart::most_row_bytes) return {};
  const std::uint64_t begin = reader.start_of(0);
  // Functions of no bytes may follow the last one that has some, or be inside it.
  std::uint32_t last = fields.count - 1;
  while (last != 0 && reader.size_of(last) == 0) --last;
  const std::uint64_t end = reader.start_of(last) + reader.size_of(last);
  return {begin, end > begin && end - begin <= largest ? end - begin : 0};
}

template <typename Reader>
void fill_pages(const Reader& reader, const detail::ViewFields& fields, Extent extent, unsigned shift,
                PageSlot* slots) {
  const std::uint64_t pages = extent.pages(shift);
  std::uint64_t page = 0;
  for (std::uint32_t number = 0; number < fields.count && page < pages; ++number) {
    const bool is_last = number + 1 == fields.count;
    const std::uint64_t end = is_last ? after_all : reader.start_of(number + 1) - extent.begin;
    if (page << shift >= end) continue;
    // The pages that start in this function, or between it and the next one.
    const ViewFunction function = reader.function_at(number);
    const std::uint64_t start = function.start - extent.begin;
    const bool has_rows = function.first_row != nullptr && function.info.pc_type() == PcType::Increment;
    RowPlace row{function.first_row, 0};
    RowPlace kept = row;  // an earlier one is right as well
    for (; page < pages && page << shift < end; ++page) {
      if (has_rows) row = reader.last_row_before(function, (page << shift) - start, row);
      if (row.number <= PageStart::largest_number) kept = row;
      const auto at = function.first_row != nullptr ? static_cast<std::uint32_t>(kept.at - fields.rows) : 0;
      set_page_start(slots, page, {number, at, kept.number});
    }
  }
}

}  // namespace

Lookup SectionView::lookup(std::uint64_t pc) const noexcept {
  if (fields_.abi == nullptr) return {};
  return with_reader(fields_, [&](const auto& reader) { return look_up(reader, fields_, pc); });
}

Lookup SectionView::lookup_stretch(std::uint64_t pc, std::uint64_t& end) const noexcept {
  end = after_all;
  if (fields_.abi == nullptr || pc == after_all) return {};
  // In a damaged section that was not checked the end may be anything; the caller's loop must still advance.
  end = std::max(pc + 1, with_reader(fields_, [&](const auto& reader) { return end_at(reader, fields_, pc); }));
  return lookup(pc);
}

std::uint64_t SectionView::page_slots(std::uint64_t page_size) const noexcept {
  if (fields_.abi == nullptr || page_size == 0) return 0;
  const Extent extent = with_reader(fields_, [&](const auto& reader) { return extent_of(reader, fields_); });
  return extent.slots(static_cast<unsigned>(std::countr_zero(page_size)));
}

void SectionView::use_pages(std::span<PageSlot> slots) noexcept {
  constexpr std::uint8_t smallest_shift = 8;
  fields_.pages = nullptr;
  if (fields_.abi == nullptr || slots.empty()) return;
  with_reader(fields_, [&](const auto& reader) {
    const Extent extent = extent_of(reader, fields_);
    if (extent.size == 0) return;
    std::uint8_t shift = smallest_shift;
    while (extent.slots(shift) > slots.size()) ++shift;
    fill_pages(reader, fields_, extent, shift, slots.data());
    fields_.pages = slots.data();
    fields_.pages_begin = extent.begin;
    fields_.pages_size = extent.size;
    fields_.page_shift = shift;
  });
}

Abi SectionView::abi() const noexcept {
  return (fields_.abi != nullptr ? *fields_.abi : default_abi).abi;
}

}  // namespace sframe_gen::sframe
