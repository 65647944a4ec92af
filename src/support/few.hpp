#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

namespace sframe_gen {

/// At most `Capacity` values, in place: a vector that a table made by the compiler can hold, where it costs a program
/// nothing to begin.
template <typename Value, std::size_t Capacity>
class Few {
 public:
  constexpr Few() = default;
  constexpr Few(std::initializer_list<Value> values) {
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

}  // namespace sframe_gen
