#include "mutator.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace sframe_gen::fuzz {

namespace {

using File = std::span<std::uint8_t>;

class ElfMutator {
 public:
  ElfMutator(File file, unsigned seed, Mutate mutate) : file_(file), random_(seed), mutate_(mutate) {
    std::memcpy(&header_, file.data(), sizeof header_);
  }

  void change() {
    const File sections = part(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
    const File segments = part(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr));
    const unsigned what = random_() % 16;
    if (what == 0) {
      change_field(file_.first(sizeof header_));
    } else if (what == 1) {
      forget_sections();
    } else if (what == 2 && !segments.empty()) {
      change_field(segments);
    } else if (what == 3 && !sections.empty()) {
      change_field(sections);
    } else {
      change_contents(sections, segments);
    }
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  File part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > file_.size()) return {};
    return file_.subspan(offset, std::min<std::uint64_t>(size, file_.size() - offset));
  }

  /// Of 4 or 8 bytes, to a number that often means something.
  void change_field(File headers) {
    const std::size_t size = random_() % 2 == 0 ? 4 : 8;
    if (headers.size() < size) return;
    std::uint8_t* const place = &headers[below(headers.size() / size) * size];
    std::uint64_t value = 0;
    std::memcpy(&value, place, size);
    const std::uint64_t others[] = {0,
                                    1,
                                    ~std::uint64_t{0},
                                    value + 1,
                                    value - 1,
                                    value + 0x1000,
                                    value ^ 1U << below(32),
                                    file_.size(),
                                    header_.e_shoff,
                                    value * 2};
    value = others[below(std::size(others))];
    std::memcpy(place, &value, size);
  }

  void forget_sections() {
    header_.e_shoff = 0;
    header_.e_shnum = header_.e_shstrndx = 0;
    std::memcpy(file_.data(), &header_, sizeof header_);
  }

  /// Of a section, or without sections of a segment.
  void change_contents(File sections, File segments) {
    File contents = file_;
    if (const std::size_t count = sections.size() / sizeof(Elf64_Shdr); count != 0) {
      Elf64_Shdr section;
      std::memcpy(&section, &sections[below(count) * sizeof section], sizeof section);
      contents = section.sh_type == SHT_NOBITS ? File() : part(section.sh_offset, section.sh_size);
    } else if (const std::size_t loads = segments.size() / sizeof(Elf64_Phdr); loads != 0) {
      Elf64_Phdr segment;
      std::memcpy(&segment, &segments[below(loads) * sizeof segment], sizeof segment);
      contents = part(segment.p_offset, segment.p_filesz);
    }
    if (contents.empty()) return;
    if (looks_like_frames(contents) && random_() % 4 != 0) return change_record(contents);
    change_bytes(contents.subspan(below(contents.size())));
  }

  /// Changes bytes where they are: the file keeps its form.
  void change_bytes(File bytes) {
    const File some = bytes.first(std::min<std::size_t>(bytes.size(), 1 + below(64)));
    if (mutate_ == nullptr) return fuzz::change_bytes(some, static_cast<unsigned>(random_()));
    std::vector<std::uint8_t> copy(some.begin(), some.end());
    const std::size_t size = mutate_(copy.data(), copy.size(), copy.size());
    std::copy_n(copy.begin(), std::min(size, some.size()), some.begin());
  }

  /// Whether records follow each other up to the end, as in .eh_frame.
  std::vector<File> records_of(File frames) const {
    std::vector<File> records;
    while (frames.size() >= 8) {
      std::uint32_t length = 0;
      std::memcpy(&length, frames.data(), sizeof length);
      if (length < 4 || length > frames.size() - 4) break;
      records.push_back(frames.first(length + 4));
      frames = frames.subspan(length + 4);
    }
    return records;
  }
  bool looks_like_frames(File contents) const {
    const std::vector<File> records = records_of(contents);
    return !records.empty() && records[0].size() > 9 && records[0][4] == 0 &&
           (records[0][8] == 1 || records[0][8] == 3);
  }

  /// Puts an instruction into a record, or changes any bytes of it.
  void change_record(File frames) {
    static constexpr std::uint8_t opcodes[] = {0x41, 0x42, 0x02, 0x03, 0x04, 0x0e, 0x0c, 0x0d, 0x86, 0x90,
                                               0xc6, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0f, 0x10,
                                               0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x2d, 0x2e, 0x2f, 0x01};
    std::vector<File> records = records_of(frames);
    const File record = records[below(records.size())];
    const std::size_t begin = 4 + below(record.size() - 4);
    if (random_() % 3 == 0) return change_bytes(record.subspan(begin));
    record[begin] = opcodes[below(std::size(opcodes))];
    for (std::size_t i = begin + 1; i < std::min(record.size(), begin + 1 + below(3)); ++i)
      record[i] = static_cast<std::uint8_t>(random_() % 2 == 0 ? below(32) : below(256));
  }

  File file_;
  std::minstd_rand random_;
  Mutate mutate_;
  Elf64_Ehdr header_{};
};

}  // namespace

void change_bytes(std::span<std::uint8_t> bytes, unsigned seed) {
  constexpr std::uint8_t often[] = {0, 1, 2, 4, 8, 16, 0x7f, 0x80, 0xfe, 0xff};
  if (bytes.empty()) return;
  std::minstd_rand chance(seed);
  const auto below = [&](std::size_t limit) { return chance() % limit; };
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    const std::size_t at = below(bytes.size()), from = below(bytes.size());
    const std::size_t count = std::min(1 + below(8), bytes.size() - std::max(at, from));
    switch (below(6)) {
      case 0:
      case 1:
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 1U << below(8));
        break;
      case 2:
        bytes[at] = often[below(std::size(often))];
        break;
      case 3:
        bytes[at] = static_cast<std::uint8_t>(bytes[at] + (below(2) == 0 ? 1 : 255));
        break;
      case 4:
        std::memmove(&bytes[at], &bytes[from], count);
        break;
      default:
        bytes[at] = static_cast<std::uint8_t>(chance());
    }
  }
}

bool mutate_elf(std::span<std::uint8_t> file, unsigned seed, Mutate mutate) {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) return false;
  if (file[EI_CLASS] != ELFCLASS64 || file[EI_DATA] != ELFDATA2LSB) return false;
  ElfMutator(file, seed, mutate).change();
  return true;
}

}  // namespace sframe_gen::fuzz
