#pragma once

#include <boost/sort/spreadsort/integer_sort.hpp>

#include <algorithm>
#include <span>

namespace sframe_gen {

/// Sorts by `before`, whose first criterion is the number that `number_of` gives: by its digits, as to compare 100,000
/// records pair by pair takes longer than to read them.
template <typename Record, typename Number, typename Before>
void sort_by_number(std::span<Record> records, Number number_of, Before before) {
  const auto shifted = [&](const Record& record, unsigned bits) { return number_of(record) >> bits; };
  boost::sort::spreadsort::integer_sort(records.begin(), records.end(), shifted, before);
  for (auto run = records.begin(); run != records.end();) {
    const auto number = number_of(*run);
    const auto end = std::find_if(run, records.end(), [&](const Record& other) { return number_of(other) != number; });
    std::sort(run, end, before);
    run = end;
  }
}

}  // namespace sframe_gen
