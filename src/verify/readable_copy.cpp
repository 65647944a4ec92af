#include "verify/readable_copy.hpp"

#include <algorithm>

#include "support/endian.hpp"

namespace sframe_gen::verify {

namespace {

using Taken = CheckedFrameSection::Taken;

bool is_wide(std::span<const std::byte> record, Endian endian) {
  return load<std::uint32_t>(record, endian) == UINT32_MAX;
}

/// Makes the record longer by what stands behind it, zeros from now on.
void take_in(std::span<std::byte> section, const Taken& taken, Endian endian) {
  const std::uint64_t size = taken.end - taken.begin;
  std::ranges::fill(section.subspan(taken.begin, size), std::byte{0});
  const auto record = section.subspan(taken.record);
  if (is_wide(record, endian)) {
    store(record.subspan(4), load<std::uint64_t>(record.subspan(4), endian) + size, endian);
  } else {
    store(record, static_cast<std::uint32_t>(load<std::uint32_t>(record, endian) + size), endian);
  }
}

/// Makes the first record a CIE that nothing refers to: of version 1, without augmentation, factors 1, register 0.
void make_harmless(std::span<std::byte> section, cfi::FrameSection kind, Endian endian) {
  const bool wide = is_wide(section, endian);
  const std::uint64_t length =
      wide ? load<std::uint64_t>(section.subspan(4), endian) : load<std::uint32_t>(section, endian);
  const auto body = section.subspan(wide ? 12 : 4, length);
  std::ranges::fill(body, std::byte{0});
  const std::size_t id_size = wide ? 8 : 4;
  if (kind == cfi::FrameSection::DebugFrame) std::ranges::fill(body.first(id_size), std::byte{0xff});
  for (const std::size_t one : {0U, 2U, 3U}) body[id_size + one] = std::byte{1};
}

}  // namespace

std::shared_ptr<const std::vector<std::byte>> readable_copy(cfi::FrameSection kind, std::span<const std::byte> bytes,
                                                            Endian endian, const CheckedFrameSection& checked) {
  if (checked.aarch64_letters.empty() && checked.taken_in.empty() && !checked.first_is_unreadable) return nullptr;
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  for (const std::uint64_t place : checked.aarch64_letters) (*copy)[place] = std::byte{'S'};
  if (checked.first_is_unreadable) make_harmless(*copy, kind, endian);
  for (const Taken& taken : checked.taken_in) take_in(*copy, taken, endian);
  return copy;
}

std::span<const std::byte> without_taken_in(const CheckedFrameSection& checked, std::uint64_t record,
                                            std::span<const std::byte> instructions) {
  std::size_t size = instructions.size();
  auto taken = std::ranges::lower_bound(checked.taken_in, record, {}, &Taken::record);
  for (; taken != checked.taken_in.end() && taken->record == record; ++taken) size -= taken->end - taken->begin;
  return instructions.first(size);
}

}  // namespace sframe_gen::verify
