#pragma once

#include <cstddef>
#include <memory>

namespace sframe_gen::emit::compact {

/// As many elements as are known beforehand. Nothing touches their memory before several threads write them.
template <typename T>
class Array {
 public:
  Array() = default;
  explicit Array(std::size_t size) : elements_(std::make_unique_for_overwrite<T[]>(size)), size_(size) {}

  std::size_t size() const { return size_; }
  T* data() { return elements_.get(); }
  const T* data() const { return elements_.get(); }
  T& operator[](std::size_t index) { return elements_[index]; }
  const T& operator[](std::size_t index) const { return elements_[index]; }

 private:
  std::unique_ptr<T[]> elements_;
  std::size_t size_ = 0;
};

}  // namespace sframe_gen::emit::compact
