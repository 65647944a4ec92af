#include "verify/readable_copy.hpp"

#include <algorithm>

#include "support/endian.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::size_t zero_length_size = 4;

/// Makes the record longer by what stands behind it.
void take_in_zero_length(std::span<std::byte> section, std::uint64_t record, Endian endian) {
  const bool wide = load<std::uint32_t>(section.subspan(record), endian) == UINT32_MAX;
  if (wide) {
    const auto length = section.subspan(record + 4);
    store(length, load<std::uint64_t>(length, endian) + zero_length_size, endian);
  } else {
    const auto length = section.subspan(record);
    store(length, static_cast<std::uint32_t>(load<std::uint32_t>(length, endian) + zero_length_size), endian);
  }
}

}  // namespace

std::shared_ptr<const std::vector<std::byte>> readable_copy(std::span<const std::byte> bytes, Endian endian,
                                                            const CheckedFrameSection& checked) {
  if (checked.aarch64_letters.empty() && checked.before_zero.empty()) return nullptr;
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  for (const std::uint64_t place : checked.aarch64_letters) (*copy)[place] = std::byte{'S'};
  for (const std::uint64_t record : checked.before_zero) take_in_zero_length(*copy, record, endian);
  return copy;
}

std::span<const std::byte> without_zero_lengths(const CheckedFrameSection& checked, std::uint64_t record,
                                                std::span<const std::byte> instructions) {
  const auto [first, last] = std::equal_range(checked.before_zero.begin(), checked.before_zero.end(), record);
  return instructions.first(instructions.size() - zero_length_size * static_cast<std::size_t>(last - first));
}

}  // namespace sframe_gen::verify
