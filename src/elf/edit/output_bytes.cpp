#include "elf/edit/output_bytes.hpp"

#include <algorithm>

namespace sframe_gen::elf {

namespace {

/// Puts the part of `source`, which belongs at `offset`, that lies in `range` to its place in `bytes`.
void overlay(std::span<const std::byte> source, std::uint64_t offset, FileRange range, std::vector<std::byte>& bytes) {
  const std::uint64_t begin = std::max(range.begin, offset);
  const std::uint64_t end = std::min<std::uint64_t>(range.end, offset + source.size());
  if (begin >= end) return;
  const auto part = source.subspan(begin - offset, end - begin);
  std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin - range.begin));
}

}  // namespace

std::vector<std::byte> output_bytes(const Image& input, const FileImage& contents, FileRange range) {
  std::vector<std::byte> bytes(range.end - range.begin);
  for (const Copy& copy : contents.copies) overlay(input.slice(copy.from, copy.size, "copy"), copy.to, range, bytes);
  for (const Patch& patch : contents.patches) overlay(patch.bytes, patch.offset, range, bytes);
  return bytes;
}

}  // namespace sframe_gen::elf
