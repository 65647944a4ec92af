#include "emit/compact/gaps.hpp"

#include <algorithm>

#include "elf/image.hpp"
#include "elf/kernel_image.hpp"
#include "emit/compact/padding.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::emit::compact {

/// A loaded section: code, or what may stand between two sections of code.
struct CodeGaps::Loaded {
  std::uint64_t begin, end;
  std::span<const std::byte> bytes;
  bool is_code;
  std::size_t segment;  ///< which holds it; of what is no code: whatever
};

CodeGaps::CodeGaps(const elf::Image& image, sframe::Abi abi)
    : file_(image.is_file() ? &image.file() : nullptr), abi_(abi), zeros_are_filler_(!image.is_object()) {
  if (image.has_section_headers()) {
    add_sections(image);
  } else {
    add_segments(image);
  }
}

void CodeGaps::add_sections(const elf::Image& image) {
  std::vector<Loaded> sections;
  for (const elf::Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    const bool takes_no_addresses = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
    if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0 || takes_no_addresses) continue;
    const std::size_t segment = segment_of(image, section);
    const bool is_code = image.is_code(section) && (image.is_object() || segment != image.segments().size());
    sections.push_back({header.sh_addr, header.sh_addr + header.sh_size,
                        is_code ? image.bytes_of(section) : std::span<const std::byte>(), is_code, segment});
  }
  std::ranges::sort(sections, {}, &Loaded::begin);
  // A linker moves an object's sections one by one, and a kernel gives back the memory of those that it starts with.
  const bool sections_stay_together = !image.is_object() && !elf::is_kernel(image);
  const Loaded* before = nullptr;
  for (const Loaded& section : sections) {
    const bool goes_on = before != nullptr && before->is_code && before->segment == section.segment &&
                         sections_stay_together && section.begin >= code_.back().end;
    if (section.is_code && goes_on) {
      Code& code = code_.back();
      code.end = section.end;
      code.bytes = {code.bytes.data(), code.end - code.begin};
    } else if (section.is_code) {
      code_.push_back({section.begin, section.end, section.bytes});
    }
    before = &section;
  }
}

/// The executable segment by which the section's bytes come to its addresses; none: the number of all. One segment's
/// sections stand in the file as they do in memory.
std::size_t CodeGaps::segment_of(const elf::Image& image, const elf::Section& section) {
  const auto holds = [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && elf::holds_section(segment, section.header);
  };
  return static_cast<std::size_t>(std::ranges::find_if(image.segments(), holds) - image.segments().begin());
}

void CodeGaps::add_segments(const elf::Image& image) {
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    code_.push_back({segment.p_vaddr, segment.p_vaddr + segment.p_filesz,
                     image.slice(segment.p_offset, segment.p_filesz, "PT_LOAD")});
  }
  std::ranges::sort(code_, {}, &Code::begin);
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
