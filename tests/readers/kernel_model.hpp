#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "elf/records.hpp"
#include "support/endian.hpp"

/// What Linux makes of a section: a model of its reader of user stacks, written from the facts about it
/// (docs/readers.md) and from nothing of ours. It looks up a return address as it is, scans rows from the first one on,
/// and any answer but a row or "no row here" makes it drop the section.
namespace sframe_gen::readers::test {

/// A row that is misread says one thing by the format and another to Linux.
enum class KernelAnswer { Row, MisreadRow, NoRow, Dropped };

/// A section with one range of code that it was registered for.
class KernelSection {
 public:
  KernelSection(std::span<const std::byte> bytes, std::uint64_t address, const elf::Image& image,
                std::uint64_t code_begin, std::uint64_t code_end)
      : bytes_(bytes),
        address_(address),
        endian_(image.endian()),
        registers_(image.header().e_machine == EM_X86_64 ? 16 : 32),
        code_begin_(code_begin),
        code_end_(code_end) {}

  /// Whether it accepts the header.
  bool read_header() {
    constexpr std::uint64_t header_size = 28, sorted = 1, from_field = 4;
    if (bytes_.size() <= header_size) return false;
    if (number(0, 2) != 0xdee2 || number(2, 1) != 3 || number(7, 1) != 0) return false;
    if ((number(3, 1) & sorted) == 0 || (number(3, 1) & from_field) == 0) return false;
    fixed_fp_ = number(5, 1) != 0;
    fixed_ra_ = number(6, 1) != 0;
    functions_ = number(8, 4);
    if (functions_ == 0 || number(12, 4) == 0) return false;
    index_ = header_size + number(20, 4);
    rows_ = header_size + number(24, 4);
    rows_end_ = rows_ + number(16, 4);
    return rows_ >= index_ + functions_ * entry_size && rows_end_ <= bytes_.size();
  }

  /// Whether a kernel that was built with CONFIG_SFRAME_VALIDATION accepts the rest.
  bool validate() const {
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < functions_; ++i) {
      Function function;
      if (!read_function(i, function) || function.start <= before) return false;
      before = function.start;
      std::uint64_t at = function.rows;
      std::optional<std::uint64_t> last;
      for (std::uint64_t row_number = 0; row_number < function.row_count; ++row_number) {
        Row row;
        if (!read_row(function, at, row) || (last && row.start <= *last)) return false;
        last = row.start;
        at = row.end;
      }
    }
    return true;
  }

  KernelAnswer look_up(std::uint64_t pc) const {
    std::optional<std::uint64_t> found;
    std::uint64_t low = 0, high = functions_, lowest = 0, highest = std::numeric_limits<std::uint64_t>::max();
    while (low < high) {
      const std::uint64_t middle = low + (high - 1 - low) / 2;
      const std::uint64_t start = start_of(middle);
      if (pc >= start) {
        if (start < lowest) return KernelAnswer::Dropped;
        lowest = start;
        found = middle;
        low = middle + 1;
      } else {
        if (start > highest) return KernelAnswer::Dropped;
        highest = start;
        high = middle;
      }
    }
    if (!found) return KernelAnswer::NoRow;
    Function function;
    if (!read_function(*found, function)) return KernelAnswer::Dropped;
    if (pc - function.start >= function.size) return KernelAnswer::NoRow;
    return find_row(function, pc - function.start);
  }

 private:
  static constexpr std::uint64_t entry_size = 16;

  struct Function {
    std::uint64_t start = 0, size = 0, rows = 0, row_count = 0;
    std::uint64_t start_size = 0;  ///< bytes of a row's start; 0: undefined
    std::uint64_t block = 0;       ///< bytes of what repeats; 0: nothing does
    std::uint64_t type = 0;
  };
  struct Row {
    std::uint64_t start = 0, end = 0;  ///< `end`: offset in the section
    // Only matter if it is the row of a PC.
    bool has_bad_control = false;
    bool is_misread = false;
  };

  std::uint64_t number(std::uint64_t at, std::uint64_t size) const {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t byte = std::to_integer<std::uint64_t>(bytes_[at + i]);
      value |= byte << 8 * (endian_ == Endian::Little ? i : size - 1 - i);
    }
    return value;
  }

  std::uint64_t start_of(std::uint64_t function) const {
    const std::uint64_t entry = index_ + function * entry_size;
    return address_ + entry + number(entry, 8);
  }

  bool read_function(std::uint64_t index, Function& function) const {
    constexpr std::uint64_t attribute_size = 5;
    const std::uint64_t entry = index_ + index * entry_size;
    function.start = start_of(index);
    function.size = number(entry + 8, 4);
    if (function.start < code_begin_ || function.start + function.size > code_end_) return false;
    const std::uint64_t attribute = rows_ + number(entry + 12, 4);
    if (attribute + attribute_size > rows_end_) return false;
    function.rows = attribute + attribute_size;
    function.row_count = number(attribute, 2);
    const std::uint64_t info = number(attribute + 2, 1), width = info & 0xf;
    function.start_size = width > 2 ? 0 : std::uint64_t{1} << width;
    function.type = number(attribute + 3, 1) & 0x1f;
    const bool repeats = (info & 0x10) != 0;
    if (repeats) function.block = number(attribute + 4, 1);
    return !(repeats && function.block == 0) && function.row_count <= function.size;
  }

  bool read_row(const Function& function, std::uint64_t at, Row& row) const {
    if (function.start_size == 0 || at + function.start_size + 1 > rows_end_) return false;
    row.start = number(at, function.start_size);
    if (row.start >= (function.block != 0 ? function.block : function.size)) return false;
    const std::uint64_t info = number(at + function.start_size, 1), width = info >> 5 & 3;
    const std::uint64_t count = info >> 1 & 0xf, words = at + function.start_size + 1;
    if (width > 2) return false;
    row.end = words + (count << width);
    if (row.end > rows_end_) return false;
    if (count == 0) return true;
    if (function.type == 0) {
      // Where the header fixes none, the FP's word comes last. 0 is for "unchanged".
      const std::uint64_t all = 1 + (fixed_ra_ ? 0U : 1U) + (fixed_fp_ ? 0U : 1U);
      row.is_misread = !fixed_fp_ && count == all && number(words + ((count - 1) << width), 1U << width) == 0;
      return count <= all;
    }
    return function.type == 1 && read_rules(words, count, std::uint64_t{1} << width, row);
  }

  /// Pairs of a control word and an offset for CFA, RA and FP; of the latter two, 0 stands for a pair.
  bool read_rules(std::uint64_t at, std::uint64_t left, std::uint64_t size, Row& row) const {
    constexpr std::uint64_t from_register = 1, reserved = 4;
    if (left < 2) return false;
    const std::uint64_t cfa = number(at, size);
    row.has_bad_control = (cfa & reserved) != 0 || (cfa & from_register) == 0;
    row.is_misread = !knows_register(cfa);
    at += 2 * size;
    left -= 2;
    for (int rule = 0; rule < 2 && left >= 2; ++rule) {
      const std::uint64_t control = number(at, size), taken = control != 0 ? 2 : 1;
      if ((control & reserved) != 0) row.has_bad_control = true;
      if ((control & from_register) != 0 && !knows_register(control)) row.is_misread = true;
      at += taken * size;
      left -= taken;
    }
    return left == 0;
  }

  /// It keeps five bits of the number, and has values of general registers; on s390x, of floating-point ones too.
  bool knows_register(std::uint64_t control) const { return control >> 3 < registers_; }

  KernelAnswer find_row(const Function& function, std::uint64_t pc_offset) const {
    if (function.block != 0) pc_offset %= function.block;
    std::optional<Row> found;
    std::uint64_t at = function.rows;
    for (std::uint64_t i = 0; i < function.row_count; ++i) {
      Row row;
      if (!read_row(function, at, row) || (found && row.start <= found->start)) return KernelAnswer::Dropped;
      if (row.start > pc_offset) break;
      found = row;
      at = row.end;
    }
    if (!found || found->has_bad_control) return KernelAnswer::Dropped;
    return found->is_misread ? KernelAnswer::MisreadRow : KernelAnswer::Row;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  Endian endian_;
  std::uint64_t registers_;  ///< that have numbers from 0
  std::uint64_t code_begin_, code_end_;
  bool fixed_fp_ = false, fixed_ra_ = false;
  std::uint64_t functions_ = 0, index_ = 0, rows_ = 0, rows_end_ = 0;
};

/// What becomes of a file's section, or of `bytes` as its section at `address`.
struct KernelOutcome {
  bool is_used = false;    ///< by a kernel that does not validate: the header is accepted, all code registered
  bool is_valid = false;   ///< for one that does
  std::uint64_t rows = 0;  ///< of the PCs of all code
  std::uint64_t misread = 0;
  std::uint64_t no_rows = 0;
  std::uint64_t dropped = 0;  ///< by this many PCs
  bool is_kept() const { return is_used && is_valid && dropped == 0; }

  void count(KernelAnswer answer) {
    ++(answer == KernelAnswer::Row          ? rows
       : answer == KernelAnswer::MisreadRow ? misread
       : answer == KernelAnswer::NoRow      ? no_rows
                                            : dropped);
  }
};

/// Addresses that a PT_LOAD's bytes in the file are mapped to, in whole pages.
struct KernelMapping {
  std::uint64_t begin, end;
  explicit KernelMapping(const Elf64_Phdr& load)
      : begin(load.p_vaddr & ~0xfffULL), end((load.p_vaddr + load.p_filesz + 0xfff) & ~0xfffULL) {}
  bool holds(const Elf64_Phdr& header) const {
    return header.p_vaddr >= begin && header.p_vaddr < end && header.p_memsz <= end - header.p_vaddr;
  }
};

inline KernelOutcome kernel_outcome(const elf::Image& image, std::span<const std::byte> bytes, std::uint64_t address) {
  struct Range {
    std::uint64_t begin, end;
  };
  KernelOutcome outcome;
  std::vector<Range> registered;
  const auto holds = [](const Elf64_Phdr& load, const Elf64_Phdr& header) {
    return header.p_vaddr >= load.p_vaddr && header.p_vaddr + header.p_memsz <= load.p_vaddr + load.p_memsz;
  };
  outcome.is_used = outcome.is_valid = true;
  for (const Elf64_Phdr& header : image.segments()) {
    if ((header.p_flags & PF_X) == 0 || header.p_memsz == 0) continue;
    // Every header that is flagged executable counts, if the memory is, and is one mapping.
    bool is_code = false, is_one_mapping = false;
    for (const Elf64_Phdr& load : image.segments()) {
      if (load.p_type != PT_LOAD || (load.p_flags & PF_X) == 0 || !holds(load, header)) continue;
      is_code = true;
      is_one_mapping |= KernelMapping(load).holds(header);
    }
    if (!is_code) continue;
    const Range range{header.p_vaddr, header.p_vaddr + header.p_memsz};
    bool is_taken = false;
    for (const Range& other : registered) is_taken |= range.begin < other.end && other.begin < range.end;
    if (is_taken || !is_one_mapping) {
      if (header.p_type == PT_LOAD) outcome.is_used = outcome.is_valid = false;
      continue;
    }
    KernelSection section(bytes, address, image, range.begin, range.end);
    if (!section.read_header()) {
      outcome.is_used = outcome.is_valid = false;
      return outcome;
    }
    outcome.is_valid = outcome.is_valid && section.validate();
    registered.push_back(range);
    for (std::uint64_t pc = range.begin; pc < range.end; ++pc) outcome.count(section.look_up(pc));
  }
  return outcome;
}

/// What the last PT_GNU_SFRAME leads to is the section, as long as the header says.
inline KernelOutcome kernel_outcome(const elf::Image& image) {
  const Elf64_Phdr* last = nullptr;
  for (const Elf64_Phdr& header : image.segments())
    if (header.p_type == 0x6474e554) last = &header;
  if (last == nullptr) return {};
  for (const Elf64_Phdr& load : image.segments()) {
    if (load.p_type != PT_LOAD || !KernelMapping(load).holds(*last)) continue;
    const std::uint64_t offset = load.p_offset + (last->p_vaddr - load.p_vaddr);
    const auto file = image.file_bytes();
    if (offset > file.size()) continue;
    // What follows the file on its last page is zeros, and no part of a section.
    const std::uint64_t size = std::min<std::uint64_t>(last->p_memsz, file.size() - offset);
    return kernel_outcome(image, file.subspan(offset, size), last->p_vaddr);
  }
  return {};
}

}  // namespace sframe_gen::readers::test
