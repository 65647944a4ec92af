#include <algorithm>

#include "sframe_gen/view.hpp"
#include "unwind/function_search.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
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
