#include "emit/compact/gaps.hpp"

#include <algorithm>

#include "emit/compact/padding.hpp"
#include "support/let_go.hpp"

namespace sframe_gen::emit::compact {

CodeGaps::CodeGaps(const elf::Image& image, sframe::Abi abi)
    : file_(image.is_file() ? &image.file() : nullptr), abi_(abi), zeros_are_filler_(!image.is_object()) {
  for (const elf::Section& section : image.sections()) {
    if (!image.is_code(section)) continue;
    const Elf64_Shdr& header = section.header;
    code_.push_back({header.sh_addr, header.sh_addr + header.sh_size, image.bytes_of(section)});
  }
  if (!image.has_section_headers()) add_segments(image);
  std::ranges::sort(code_, {}, &Code::begin);
}

void CodeGaps::add_segments(const elf::Image& image) {
  code_.clear();
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    code_.push_back({segment.p_vaddr, segment.p_vaddr + segment.p_filesz,
                     image.slice(segment.p_offset, segment.p_filesz, "PT_LOAD")});
  }
}

const CodeGaps::Code* CodeGaps::code_before(std::uint64_t address) const {
  const auto after = std::ranges::lower_bound(code_, address, {}, &Code::begin);
  return after == code_.begin() ? nullptr : &*std::prev(after);
}

bool CodeGaps::is_filled(std::uint64_t begin, std::uint64_t end) const {
  const Code* const code = code_before(begin);
  if (code == nullptr || end < begin || end >= code->end) return false;
  return is_padding(code->bytes.subspan(begin - code->begin, end - begin), abi_, zeros_are_filler_);
}

/// Padding is in as many places of memory as there are functions, and nobody else reads code.
void CodeGaps::expect(std::uint64_t begin) const {
  const Code* const code = code_before(begin);
  if (code != nullptr && begin < code->end) __builtin_prefetch(&code->bytes[begin - code->begin]);
}

void CodeGaps::let_go() const {
  if (file_ != nullptr) sframe_gen::let_go(*file_);
}

}  // namespace sframe_gen::emit::compact
