#include "unwind/section_lookup.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "sframe_gen/view.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
namespace {

/// Where to go on from, for a PC.
struct Candidate {
  std::uint32_t function = no_function;
  bool has_page = false;
  PageStart page;
};

template <typename Reader>
Candidate find_by_page(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  const std::uint64_t distance = pc - fields.pages_begin;
  if (distance >= fields.pages_size) return {};
  const std::uint64_t page = distance >> fields.page_shift;
  const PageStart begin = page_start(fields.pages, page);
  const std::uint32_t others = page_start(fields.pages, page + 1).function - begin.function;
  return {last_start(reader, begin.function, others + 1, pc), true, begin};
}

template <typename Reader>
Candidate find_function(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  if (fields.count == 0) return {};
  Candidate found;
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

/// The row to begin a scan at.
inline RowPlace first_row_for(const detail::ViewFields& fields, const Candidate& candidate,
                              const ViewFunction& function) {
  if (!candidate.has_page || candidate.page.function != candidate.function) return {function.first_row, 0};
  return {fields.rows + candidate.page.row, candidate.page.row_number};
}

/// Of any section.
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
  const RowPlace from = first_row_for(fields, candidate, function);
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

}  // namespace

Lookup SectionView::lookup(std::uint64_t pc) const noexcept {
  if (fields_.abi == nullptr) return {};
  return with_reader(fields_, [&](const auto& reader) {
    using Usual = UsualLookup<std::remove_cvref_t<decltype(reader)>>;
    if constexpr (Usual::exists) {
      Lookup found;
      if (fields_.pages != nullptr && Usual(reader, fields_).find(pc, found)) return found;
    }
    return look_up(reader, fields_, pc);
  });
}

Abi SectionView::abi() const noexcept {
  return fields_.abi != nullptr ? fields_.abi->abi : Abi::Amd64;
}

namespace {

constexpr std::uint8_t smallest_shift = 8;
constexpr std::uint64_t largest_extent = std::uint64_t{1} << 48U;  // of code, in bytes: no address space has more

/// From the first function's first byte to the last one's last: its functions are in order.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;  ///< bytes; 0: there is nothing to make a table of
};

template <typename Reader>
Extent extent_of(const Reader& reader, const detail::ViewFields& fields) {
  if (fields.count == 0 || (fields.flags & flag::sorted) == 0) return {};
  if (fields.count > PageStart::most_functions || fields.rows_size >= PageStart::most_row_bytes) return {};
  const std::uint64_t begin = reader.start_of(0);
  // Functions of no bytes may come behind the last one that has some, or stand inside it.
  std::uint32_t last = fields.count - 1;
  while (last != 0 && reader.size_of(last) == 0) --last;
  const std::uint64_t end = reader.start_of(last) + reader.size_of(last);
  return {begin, end > begin && end - begin <= largest_extent ? end - begin : 0};
}

/// Of the code, and one behind it that says where the last page's functions end.
std::uint64_t pages_for(std::uint64_t size, unsigned shift) {
  return size == 0 ? 0 : ((size - 1) >> shift) + 2;
}

std::uint64_t slots_for(std::uint64_t size, unsigned shift) {
  return (pages_for(size, shift) + PageStart::per_slot - 1) / PageStart::per_slot;
}

template <typename Reader>
class PageFiller {
 public:
  PageFiller(const Reader& reader, const detail::ViewFields& fields, Extent extent, unsigned shift, PageSlot* slots)
      : reader_(reader),
        fields_(fields),
        extent_(extent),
        shift_(shift),
        slots_(slots),
        pages_(pages_for(extent.size, shift)) {}

  void fill() {
    for (std::uint32_t i = 0; i < fields_.count && next_ < pages_; ++i) {
      const bool is_last = i + 1 == fields_.count;
      const std::uint64_t end = is_last ? ~std::uint64_t{0} : reader_.start_of(i + 1) - extent_.begin;
      if (starts_before(end)) fill_from(i, end);
    }
  }

 private:
  std::uint64_t first_byte() const { return next_ << shift_; }
  bool starts_before(std::uint64_t end) const { return next_ < pages_ && first_byte() < end; }

  /// The pages that start in function `number`, or between it and the next one.
  void fill_from(std::uint32_t number, std::uint64_t end) {
    const ViewFunction function = reader_.function_at(number);
    const std::uint64_t start = function.start - extent_.begin;
    const bool has_rows = function.first_row != nullptr && function.info.pc_type() == PcType::Increment;
    RowPlace row{function.first_row, 0};
    RowPlace kept = row;  // an earlier one is right as well
    for (; starts_before(end); ++next_) {
      if (has_rows) row = reader_.last_row_before(function, first_byte() - start, row);
      if (row.number <= PageStart::largest_number) kept = row;
      const auto at = function.first_row != nullptr ? static_cast<std::uint32_t>(kept.at - fields_.rows) : 0;
      set_page_start(slots_, next_, {number, at, kept.number});
    }
  }

  const Reader& reader_;
  const detail::ViewFields& fields_;
  Extent extent_;
  unsigned shift_;
  PageSlot* slots_;
  std::uint64_t pages_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::uint64_t SectionView::page_slots(std::uint64_t page_size) const noexcept {
  if (fields_.abi == nullptr || page_size == 0) return 0;
  const Extent extent = with_reader(fields_, [&](const auto& reader) { return extent_of(reader, fields_); });
  return slots_for(extent.size, static_cast<unsigned>(std::countr_zero(page_size)));
}

void SectionView::use_pages(std::span<PageSlot> slots) noexcept {
  fields_.pages = nullptr;
  if (fields_.abi == nullptr || slots.empty()) return;
  with_reader(fields_, [&](const auto& reader) {
    const Extent extent = extent_of(reader, fields_);
    if (extent.size == 0) return;
    std::uint8_t shift = smallest_shift;
    while (slots_for(extent.size, shift) > slots.size()) ++shift;
    PageFiller(reader, fields_, extent, shift, slots.data()).fill();
    fields_.pages = slots.data();
    fields_.pages_begin = extent.begin;
    fields_.pages_size = extent.size;
    fields_.page_shift = shift;
  });
}

namespace {

constexpr std::uint64_t behind_all = ~std::uint64_t{0};

/// Where the next function behind `pc` starts.
template <typename Reader>
std::uint64_t next_function(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  std::uint64_t next = behind_all;
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

/// Where the row that holds at `pc` ends, or the stretch before the function's first row.
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
  if (fields.count == 0) return behind_all;
  if (!is_sorted(fields)) {
    // A function that comes first in the index may start inside another.
    const std::uint64_t next = next_function(reader, fields, pc);
    const std::uint32_t function = first_holder(reader, fields, pc);
    return function == no_function ? next : std::min(next, end_in_function(reader, reader.function_at(function), pc));
  }
  const std::uint32_t function = holder_of(reader, last_start(reader, 0, fields.count, pc), pc);
  if (function == no_function) return next_function(reader, fields, pc);
  return end_in_function(reader, reader.function_at(function), pc);
}

}  // namespace

Lookup SectionView::lookup_stretch(std::uint64_t pc, std::uint64_t& end) const noexcept {
  end = behind_all;
  if (fields_.abi == nullptr || pc == behind_all) return {};
  // Of a damaged section, which nobody has checked, it may come to anything; whoever goes on from there still gets on.
  end = std::max(pc + 1, with_reader(fields_, [&](const auto& reader) { return end_at(reader, fields_, pc); }));
  return lookup(pc);
}

}  // namespace sframe_gen::sframe
