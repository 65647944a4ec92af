#include "encode/padding.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "elf/kernel_files.hpp"
#include "elf/symbol_names.hpp"
#include "files/stored_bytes.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::encode {

namespace {

using Bytes = std::span<const std::byte>;

unsigned at(Bytes code, std::size_t index) {
  return std::to_integer<unsigned>(code[index]);
}

/// Returns the size of the nop that `code` begins with, without prefixes, or 0: those of "Recommended Multi-Byte
/// Sequence of NOP Instruction" (Intel SDM, volume 2B, NOP).
std::size_t nop_of_amd64(Bytes code) {
  constexpr std::size_t fixed = 3;  // opcode and ModRM; index and displacement are 0
  if (code.empty()) return 0;
  if (at(code, 0) == 0x90) return 1;
  if (code.size() < fixed || at(code, 0) != 0x0f || at(code, 1) != 0x1f) return 0;
  std::size_t zeros = 0;
  switch (at(code, 2)) {
    case 0x00:
      break;
    case 0x40:
      zeros = 1;
      break;
    case 0x44:
      zeros = 2;
      break;
    case 0x80:
      zeros = 4;
      break;
    case 0x84:
      zeros = 5;
      break;
    default:
      return 0;
  }
  if (code.size() - fixed < zeros) return 0;
  const Bytes rest = code.subspan(fixed, zeros);
  return std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; }) ? fixed + zeros : 0;
}

/// Returns the size of the filler that `code` begins with, or 0. Operand size (66), which gas repeats, and the prefix
/// of %cs (2e) may precede a nop.
std::size_t filler_of_amd64(Bytes code) {
  constexpr unsigned int3 = 0xcc;
  constexpr std::size_t longest_instruction = 15;
  if (at(code, 0) == int3) return 1;
  std::size_t prefixes = 0;
  while (prefixes < code.size() && (at(code, prefixes) == 0x66 || at(code, prefixes) == 0x2e)) ++prefixes;
  const std::size_t nop = nop_of_amd64(code.subspan(prefixes));
  return nop != 0 && prefixes + nop <= longest_instruction ? prefixes + nop : 0;
}

/// Instructions are little-endian in both byte orders (Arm ARM, B2.6.2).
std::size_t filler_of_aarch64(Bytes code) {
  if (code.size() < 4) return 0;
  // brk is not a filler: a function that only calls __builtin_trap() consists of one.
  constexpr std::uint32_t nop = 0xd503201f;
  return load<std::uint32_t>(code, Endian::Little) == nop ? 4 : 0;
}

/// These branch on no condition: the mask, the high half of the second byte, is 0 (z/Architecture Principles of
/// Operation, BRANCH ON CONDITION, BRANCH RELATIVE ON CONDITION).
std::size_t filler_of_s390x(Bytes code) {
  if (code.size() < 2) return 0;
  const unsigned opcode = at(code, 0), second = at(code, 1);
  if (opcode == 0x07 && second <= 0x0f) return 2;
  if (opcode == 0x47 && second <= 0x0f && code.size() >= 4) return 4;
  if (opcode == 0xa7 && second == 0x04 && code.size() >= 4) return 4;
  if (opcode == 0xc0 && second == 0x04 && code.size() >= 6) return 6;
  return 0;
}

struct PaddingMachine {
  std::size_t (*filler)(Bytes code);
  std::size_t alignment;  ///< of instructions
};

PaddingMachine padding_machine_of(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return {filler_of_amd64, 1};
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return {filler_of_aarch64, 4};
    case sframe::Abi::S390x:
      return {filler_of_s390x, 2};
  }
  return {[](Bytes) { return std::size_t{0}; }, 1};
}

}  // namespace

std::size_t padding_before(Bytes code, sframe::Abi abi, bool zeros_are_padding) {
  const PaddingMachine machine = padding_machine_of(abi);
  std::size_t padding = 0;
  while (padding < code.size()) {
    const Bytes rest = code.subspan(padding);
    // Zeros count in whole instructions' places: AArch64's `b .` and `ldr x0, [x0]` begin with some.
    const Bytes place = rest.first(std::min(rest.size(), machine.alignment));
    const bool is_zero = std::ranges::all_of(place, [](std::byte byte) { return byte == std::byte{0}; });
    const bool may_be_filled_in = !zeros_are_padding && at(rest, 0) == 0;
    const std::size_t size = may_be_filled_in ? 0 : is_zero ? place.size() : machine.filler(rest);
    if (size == 0) break;
    padding += size;
  }
  return padding;
}

Bytes CodeWindow::read(Bytes mapped) {
  constexpr std::size_t most = std::size_t{1} << 16;
  // Of a gap as large as that, the mapping has few pages that are looked at: it is no padding, or all of it is read.
  if (file_ == nullptr || mapped.size() > most) return mapped;
  const auto offset = static_cast<std::uint64_t>(mapped.data() - file_->bytes().data());
  if (offset < begin_ || offset + mapped.size() > end_) {
    if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(most);
    begin_ = end_ = offset;
    while (end_ < offset + mapped.size()) {
      const std::span free(buffer_.get() + (end_ - begin_), most - (end_ - begin_));
      const Bytes piece = files::read_piece(file_->descriptor(), end_, free);
      if (piece.empty()) throw SystemFailure(file_->name(), "read", errno != 0 ? errno : EIO);
      end_ += piece.size();
    }
  }
  return {buffer_.get() + (offset - begin_), mapped.size()};
}

// In an object, zeros may be what a relocation fills in.
CodeGaps::CodeGaps(const elf::Image& image, sframe::Abi abi)
    : file_(image.is_file() ? &image.file() : nullptr), abi_(abi), zeros_are_padding_(!image.is_object()) {
  /// A loaded section, and the executable segment that loads it at its address, or the number of all segments.
  struct Loaded {
    const elf::Section* section;
    std::size_t segment;
    bool is_code;
  };
  const auto& segments = image.segments();
  std::vector<Loaded> sections;
  for (const elf::Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    const bool takes_no_addresses = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
    if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0 || takes_no_addresses) continue;
    const auto loads_it = [&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && elf::holds_section(segment, header);
    };
    const auto segment = static_cast<std::size_t>(std::ranges::find_if(segments, loads_it) - segments.begin());
    sections.push_back(
        {&section, segment, image.is_code(section) && (image.is_object() || segment != segments.size())});
  }
  std::ranges::sort(sections, {}, [](const Loaded& loaded) { return loaded.section->header.sh_addr; });
  function_starts_ = elf::function_starts(image);

  // A linker moves an object's sections one by one, and a kernel frees those that it starts with.
  const bool sections_stay_together = !image.is_object() && !elf::is_kernel(image);
  const Loaded* before = nullptr;
  for (const Loaded& loaded : sections) {
    const std::uint64_t begin = loaded.section->header.sh_addr, end = begin + loaded.section->header.sh_size;
    const Bytes bytes = loaded.is_code ? image.bytes_of(*loaded.section) : Bytes();
    const bool may_join = before != nullptr && before->is_code && before->segment == loaded.segment &&
                          sections_stay_together && begin >= code_.back().end;
    // Joined where the sections have the same distance in the file as in memory.
    if (loaded.is_code && may_join && bytes.data() == code_.back().bytes.data() + (begin - code_.back().begin)) {
      code_.back().end = end;
      code_.back().bytes = {code_.back().bytes.data(), bytes.data() + bytes.size()};
    } else if (loaded.is_code) {
      code_.push_back({begin, end, bytes});
    }
    before = &loaded;
  }
  std::vector<Range> places;
  for (const Code& code : code_) places.push_back({code.begin, code.end});
  places_ = RangeSet(std::move(places));
}

bool CodeGaps::is_padding(std::uint64_t begin, std::uint64_t end, CodeWindow& window) const {
  const auto after = std::ranges::lower_bound(code_, begin, {}, &Code::begin);
  if (after == code_.begin()) return false;
  const Code& code = *std::prev(after);
  if (end < begin || end >= code.end) return false;
  // A function may consist of instructions that do nothing, and go on to the next one.
  const auto function = std::ranges::lower_bound(function_starts_, begin);
  if (function != function_starts_.end() && *function < end) return false;
  if (begin == end) return true;
  const Bytes gap = window.read(code.bytes.subspan(begin - code.begin, end - begin));
  return padding_before(gap, abi_, zeros_are_padding_) == gap.size();
}

bool CodeGaps::ends_in_call(std::uint64_t end) const {
  constexpr std::uint64_t longest_call = 6;
  const auto after = std::ranges::lower_bound(code_, end, {}, &Code::begin);
  if (after == code_.begin()) return false;
  const Code& code = *std::prev(after);
  if (end > code.end || end - code.begin < longest_call) return false;
  const Bytes before = code.bytes.subspan(end - code.begin - longest_call, longest_call);
  switch (abi_) {
    case sframe::Abi::Amd64: {
      // call rel32, to code; call *rel32(%rip); call *%reg
      const auto distance = static_cast<std::int32_t>(load<std::uint32_t>(before.subspan(2), Endian::Little));
      const std::uint64_t target = end + static_cast<std::uint64_t>(std::int64_t{distance});
      if (at(before, 1) == 0xe8) return places_.overlaps({target, target + 1});
      return (at(before, 0) == 0xff && at(before, 1) == 0x15) || (at(before, 4) == 0xff && at(before, 5) >> 3U == 0x1a);
    }
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little: {
      const auto word = load<std::uint32_t>(before.subspan(2), Endian::Little);
      return (word & 0xfc000000U) == 0x94000000U || (word & 0xfffffc1fU) == 0xd63f0000U;  // bl, blr
    }
    case sframe::Abi::S390x:
      return (at(before, 0) == 0xc0 && (at(before, 1) & 0x0fU) == 5) || at(before, 4) == 0x0d;  // brasl, basr
  }
  return false;
}

void CodeGaps::drop_pages() const {
  if (file_ != nullptr) sframe_gen::drop_pages(*file_);
}

}  // namespace sframe_gen::encode
