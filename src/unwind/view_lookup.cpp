#include "sframe_gen/view.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {
namespace {

constexpr std::uint32_t no_function = 0xffffffff;

template <typename Reader>
bool holds(const Reader& reader, std::uint32_t function, std::uint64_t pc) {
  const std::uint64_t start = reader.start_of(function);
  return pc >= start && pc - start < reader.size_of(function);
}

/// The last function that starts at or before `pc`; the first, if none does.
template <typename Reader>
std::uint32_t last_start(const Reader& reader, std::uint32_t count, std::uint64_t pc) {
  std::uint32_t first = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    // No branch, which would be guessed wrong every other time.
    first += reader.start_of(first + half) <= pc ? half : 0;
    count -= half;
  }
  return first;
}

template <typename Reader>
std::uint32_t find_function(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  if (fields.count == 0) return no_function;
  if ((fields.flags & flag::sorted) == 0) {
    std::uint32_t function = 0;
    while (function < fields.count && !holds(reader, function, pc)) ++function;
    return function < fields.count ? function : no_function;
  }
  std::uint32_t function = last_start(reader, fields.count, pc);
  // A function of no bytes may share its start with a real one, or stand inside it; it holds no pc.
  while (function != 0 && reader.size_of(function) == 0) --function;
  return holds(reader, function, pc) ? function : no_function;
}

template <typename Reader>
Lookup look_up(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  Lookup found;
  const std::uint32_t number = find_function(reader, fields, pc);
  if (number == no_function) return found;
  const ViewFunction function = reader.function_at(number);
  found.descriptor = number;
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
  found.kind = reader.find_row(function, pc - function.start, fre, found.row_number);
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
  return with_reader(fields_, [&](const auto& reader) { return look_up(reader, fields_, pc); });
}

Abi SectionView::abi() const noexcept {
  return fields_.abi != nullptr ? fields_.abi->abi : Abi::Amd64;
}

}  // namespace sframe_gen::sframe
