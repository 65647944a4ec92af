// Reads .sframe as its specification has it, versions 1 to 3, for AMD64.

#include <algorithm>

#include "elf_file.hpp"

namespace judge {

namespace {

constexpr std::uint32_t segment_type = 0x6474e554;  // PT_GNU_SFRAME
constexpr std::uint16_t magic = 0xdee2;
constexpr std::uint8_t starts_are_relative_to_their_field = 4;  // a flag of the header
constexpr std::uint64_t block_of_version_1 = 16;                // of functions that repeat their rows
constexpr signed char rbp = 6, rsp = 7;

struct Header {
  std::uint16_t magic;
  std::uint8_t version, flags, abi;
  std::int8_t fixed_frame_pointer, fixed_return_address;
  std::uint8_t auxiliary_size;
  std::uint32_t functions, rows, rows_size, functions_at, rows_at;
};
static_assert(sizeof(Header) == 28);

/// What the three versions say of a function.
struct Function {
  std::uint64_t begin = 0, size = 0, rows_at = 0, rows = 0, block = 0;
  std::uint8_t info = 0, info2 = 0;

  bool repeats() const { return (info & 0x10U) != 0; }
  bool is_flexible() const { return (info2 & 0x1fU) == 1; }
  std::size_t offset_size() const { return std::size_t{1} << (info & 0xfU); }
};

class Reader {
 public:
  Reader(const ElfFile::Part& section, std::vector<Row>& rows) : section_(section), rows_(rows) {
    header_ = section.cursor().take<Header>();
    if (header_.magic != magic || header_.version < 1 || header_.version > 3)
      throw std::runtime_error(".sframe has another magic number or version");
  }

  void read() {
    const std::uint64_t sizes[] = {17, 20, 16};
    for (std::uint64_t i = 0; i < header_.functions; ++i)
      read_function(sizeof header_ + header_.auxiliary_size + header_.functions_at + i * sizes[header_.version - 1]);
  }

 private:
  Cursor at(std::uint64_t offset) const {
    Cursor cursor = section_.cursor();
    cursor.skip(offset);
    return cursor;
  }

  void read_function(std::uint64_t offset) {
    Cursor entry = at(offset);
    Function function;
    const bool is_3 = header_.version == 3;
    const std::int64_t start = is_3 ? entry.take<std::int64_t>() : entry.take<std::int32_t>();
    const std::uint64_t base =
        section_.address + ((header_.flags & starts_are_relative_to_their_field) != 0 ? offset : 0);
    function.begin = base + static_cast<std::uint64_t>(start);
    function.size = entry.take<std::uint32_t>();
    function.rows_at =
        sizeof header_ + header_.auxiliary_size + header_.rows_at + std::uint64_t{entry.take<std::uint32_t>()};
    if (is_3) {
      entry = at(function.rows_at);
      function.rows = entry.take<std::uint16_t>();
      function.info = entry.take<std::uint8_t>();
      function.info2 = entry.take<std::uint8_t>();
      function.block = entry.take<std::uint8_t>();
      function.rows_at += 5;
    } else {
      function.rows = entry.take<std::uint32_t>();
      function.info = entry.take<std::uint8_t>();
      function.block = header_.version == 2 ? entry.take<std::uint8_t>() : block_of_version_1;
    }
    add_rows(function);
  }

  void add_rows(const Function& function) {
    std::vector<Row> rows;
    Cursor cursor = at(function.rows_at);
    for (std::uint64_t i = 0; i < function.rows; ++i) rows.push_back(read_row(function, cursor));
    if (rows.empty()) {
      rows.emplace_back();
      rows.back().is_outermost = 1;
    }
    const std::uint64_t block = function.repeats() && function.block != 0 ? function.block : function.size;
    if (function.size == 0 || block == 0) return;
    for (std::uint64_t begin = 0; begin < function.size; begin += block) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Row row = rows[i];
        const std::uint64_t end = i + 1 < rows.size() ? rows[i + 1].begin : block;
        row.begin += function.begin + begin;
        row.end = std::min(function.begin + begin + end, function.begin + function.size);
        if (row.begin < row.end) rows_.push_back(row);
      }
    }
  }

  /// Its `begin` is an offset.
  Row read_row(const Function& function, Cursor& cursor) const {
    Row row{};
    row.begin = cursor.unsigned_of(function.offset_size());
    const auto info = cursor.take<std::uint8_t>();
    const std::size_t word_size = std::size_t{1} << (info >> 5U & 3U), count = info >> 1U & 0xfU;
    Cursor words = cursor.part(word_size * count);
    if (count == 0) {
      row.is_outermost = 1;
      return row;
    }
    const Rule same{RULE_SAME, 0, {}, 0};
    row.return_address = fixed(header_.fixed_return_address).value_or(same);
    row.frame_pointer = fixed(header_.fixed_frame_pointer).value_or(same);
    if (function.is_flexible()) {
      for (Rule* rule : {&row.cfa, &row.return_address, &row.frame_pointer}) take_rule(words, word_size, *rule);
      return row;
    }
    const auto take_place = [&](Rule& rule) {
      if (!words.is_at_end()) rule = {RULE_AT, BASE_CFA, {}, static_cast<int>(words.signed_of(word_size))};
    };
    row.cfa = {RULE_IS, (info & 1U) != 0 ? rsp : rbp, {}, static_cast<int>(words.signed_of(word_size))};
    if (header_.fixed_return_address == 0) take_place(row.return_address);
    if (header_.fixed_frame_pointer == 0) take_place(row.frame_pointer);
    return row;
  }

  static std::optional<Rule> fixed(std::int8_t offset) {
    if (offset == 0) return std::nullopt;
    return Rule{RULE_AT, BASE_CFA, {}, offset};
  }

  /// Of a flexible function: control word and offset, or zero where nothing is said.
  static void take_rule(Cursor& words, std::size_t word_size, Rule& rule) {
    if (words.is_at_end()) return;
    const std::uint64_t control = words.unsigned_of(word_size);
    if (control == 0) return;
    rule.kind = (control & 2U) != 0 ? RULE_AT : RULE_IS;
    rule.base = (control & 1U) != 0 ? static_cast<signed char>(control >> 3U) : BASE_CFA;
    rule.offset = static_cast<int>(words.signed_of(word_size));
  }

  ElfFile::Part section_;
  std::vector<Row>& rows_;
  Header header_{};
};

}  // namespace

FileRows rows_of_sframe(const ElfFile& file) {
  FileRows result;
  result.segments = file.loads();
  const auto section = file.segment(segment_type);
  if (!section) throw std::runtime_error("no PT_GNU_SFRAME");
  Reader(*section, result.rows).read();
  if (put_in_order(result.rows) != 0) throw std::runtime_error(".sframe has two rows for one address");
  return result;
}

}  // namespace judge
