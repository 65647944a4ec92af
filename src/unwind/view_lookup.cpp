#include <type_traits>

#include "sframe_gen/view.hpp"
#include "unwind/function_search.hpp"
#include "unwind/page_slots.hpp"
#include "unwind/section_reader.hpp"
#include "unwind/usual_lookup.hpp"

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

}  // namespace sframe_gen::sframe
