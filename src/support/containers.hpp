#pragma once

#include <boost/sort/spreadsort/integer_sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace sframe_gen {

/// At most `Capacity` values, in place: a vector that a table made by the compiler can hold, where it costs a program
/// nothing to begin.
template <typename Value, std::size_t Capacity>
class SmallVector {
 public:
  constexpr SmallVector() = default;
  constexpr SmallVector(std::initializer_list<Value> values) {
    for (const Value& value : values) push_back(value);
  }

  constexpr void push_back(const Value& value) {
    if (size_ == Capacity) throw std::length_error("more than a few");
    values_[size_++] = value;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr const Value* begin() const { return values_.data(); }
  constexpr const Value* end() const { return begin() + size_; }
  constexpr const Value& front() const { return *begin(); }
  constexpr const Value& operator[](std::size_t index) const { return values_[index]; }

 private:
  std::array<Value, Capacity> values_{};
  std::size_t size_ = 0;
};

/// A growing array of at most `Most` values, which never move: threads may read values that they know of while one adds
/// another. Memory is touched as values come: most files have few.
template <typename Value, std::size_t Most>
class StableVector {
 public:
  /// Takes the memory of the next value: its push_back then throws only what copying a value throws.
  void make_room() {
    auto& chunk = chunks_[size_ / chunk_size];
    if (!chunk) chunk.reset(std::allocator<Value>().allocate(chunk_size));
  }

  void push_back(const Value& value) {
    make_room();
    std::construct_at(&chunks_[size_ / chunk_size].get()[size_ % chunk_size], value);
    ++size_;
  }

  std::size_t size() const { return size_; }
  const Value& operator[](std::size_t index) const { return chunks_[index / chunk_size].get()[index % chunk_size]; }

 private:
  static constexpr std::size_t chunk_size = 1024;
  static_assert(Most % chunk_size == 0 && std::is_trivially_destructible_v<Value>);

  struct Free {
    void operator()(Value* chunk) const { std::allocator<Value>().deallocate(chunk, chunk_size); }
  };

  std::vector<std::unique_ptr<Value, Free>> chunks_ = std::vector<std::unique_ptr<Value, Free>>(Most / chunk_size);
  std::size_t size_ = 0;
};

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
