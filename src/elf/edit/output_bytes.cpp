#include "elf/edit/output_bytes.hpp"

#include <algorithm>
#include <span>

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

void visit_output_bytes(const Image& input, const FileImage& contents, FileRange range,
                        const std::function<void(std::span<const std::byte>)>& visit) {
  constexpr std::uint64_t step = 1 << 18;
  while (!range.empty()) {
    const Patch* on_top = nullptr;
    std::uint64_t end = range.end;
    for (const Patch& patch : contents.patches) {
      const std::uint64_t patch_end = patch.offset + patch.bytes.size();
      if (patch_end <= range.begin) continue;
      if (patch.offset <= range.begin) on_top = &patch;
      end = std::min(end, patch.offset <= range.begin ? patch_end : patch.offset);
    }
    if (on_top != nullptr) {
      visit(std::span(on_top->bytes).subspan(range.begin - on_top->offset, end - range.begin));
    } else {
      end = std::min(end, range.begin + step);
      visit(output_bytes(input, contents, {range.begin, end}));
    }
    range.begin = end;
  }
}

std::vector<std::byte> output_bytes(const Image& input, const FileImage& contents, FileRange range) {
  std::vector<std::byte> bytes(range.end - range.begin);
  for (const Copy& copy : contents.copies) overlay(input.slice(copy.from, copy.size, "copy"), copy.to, range, bytes);
  for (const Patch& patch : contents.patches) overlay(patch.bytes, patch.offset, range, bytes);
  return bytes;
}

}  // namespace sframe_gen::elf
