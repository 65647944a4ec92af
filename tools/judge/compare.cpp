#include "compare.hpp"

#include <algorithm>

namespace judge {

namespace {

bool are_equal(const Rule& one, const Rule& two) {
  if (one.kind != two.kind) return false;
  return one.kind < RULE_AT || (one.base == two.base && one.offset == two.offset);
}

/// Counted from the register that the CFA counts from, so that spellings of one place compare equal.
Rule from_register(Rule rule, const Rule& cfa) {
  if ((rule.kind == RULE_AT || rule.kind == RULE_IS) && rule.base == BASE_CFA && cfa.kind == RULE_IS) {
    rule.base = cfa.base;
    rule.offset += cfa.offset;
  }
  return rule;
}

Difference of_frame_pointer(const Row& cfi, const Row& row) {
  if (cfi.frame_pointer.kind == RULE_LOST) return Difference::FpUndefined;
  if (are_equal(cfi.frame_pointer, row.frame_pointer)) return Difference::Same;
  if (are_equal(from_register(cfi.frame_pointer, cfi.cfa), from_register(row.frame_pointer, row.cfa)))
    return Difference::Same;
  return row.frame_pointer.kind == RULE_SAME ? Difference::FpUnchanged : Difference::WrongFp;
}

Difference of_rows(const Row& cfi, const Row& row) {
  if (cfi.is_outermost != 0) return row.is_outermost != 0 ? Difference::Same : Difference::WrongOutermost;
  if (row.is_outermost != 0) return Difference::OutermostRow;
  for (const Rule* rule : {&cfi.cfa, &cfi.return_address, &cfi.frame_pointer})
    if (rule->kind == RULE_OTHER) return Difference::Expression;
  const bool has_other_base = cfi.cfa.kind == RULE_IS && row.cfa.kind == RULE_IS && cfi.cfa.base != row.cfa.base;
  if (!has_other_base && !are_equal(cfi.cfa, row.cfa)) return Difference::WrongCfa;
  if (!are_equal(cfi.return_address, row.return_address) &&
      (has_other_base ||
       !are_equal(from_register(cfi.return_address, cfi.cfa), from_register(row.return_address, row.cfa))))
    return Difference::WrongReturnAddress;
  const Difference frame_pointer = of_frame_pointer(cfi, row);
  return frame_pointer == Difference::Same && has_other_base ? Difference::OtherBase : frame_pointer;
}

}  // namespace

const char* name_of(Difference difference) {
  constexpr std::array<const char*, differences> names{
      "same",          "other base",   "FP unchanged",    "expression", "no row",   "no CFI",
      "outermost row", "FP undefined", "WRONG outermost", "WRONG CFA",  "WRONG RA", "WRONG FP"};
  return names[static_cast<std::size_t>(difference)];
}

void compare(const std::vector<Row>& cfi, const std::vector<Row>& rows, const Visit& visit) {
  auto left = cfi.begin(), right = rows.begin();
  std::uint64_t at = 0;
  while (left != cfi.end() || right != rows.end()) {
    // The next byte that one of them has, and how far both stay as they are.
    const auto begin_of = [&](auto row, const auto& all) {
      return row == all.end() ? ~std::uint64_t{0} : std::max<std::uint64_t>(row->begin, at);
    };
    const std::uint64_t in_cfi = begin_of(left, cfi), in_rows = begin_of(right, rows);
    at = std::min(in_cfi, in_rows);
    const Row* const said = in_cfi == at ? &*left : nullptr;
    const Row* const row = in_rows == at ? &*right : nullptr;
    const std::uint64_t end =
        std::min<std::uint64_t>(said != nullptr ? said->end : in_cfi, row != nullptr ? row->end : in_rows);
    const Difference difference = said == nullptr  ? Difference::NoCfi
                                  : row == nullptr ? Difference::Missing
                                                   : of_rows(*said, *row);
    visit(at, end, difference, said, row);
    at = end;
    if (left != cfi.end() && left->end <= at) ++left;
    if (right != rows.end() && right->end <= at) ++right;
  }
}

}  // namespace judge
