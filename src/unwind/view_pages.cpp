#include <bit>

#include "sframe_gen/view.hpp"
#include "unwind/page_slots.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
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

}  // namespace sframe_gen::sframe
