// Interprets .eh_frame as DWARF 5, chapter 6.4, and the Linux Standard Base have it, for x86-64: what the CFA, the
// return address and rbp are. Expressions become rows where they are one load, one sum, or the rule of a PLT.

#include <algorithm>
#include <array>
#include <map>

#include "elf_file.hpp"

namespace judge {

namespace {

constexpr std::size_t rbp = 6, rsp = 7, return_address = 16, registers = 17;
constexpr std::uint8_t pointer_is_relative = 0x70, relative_to_itself = 0x10, omitted = 0xff;

enum Instruction : std::uint8_t {
  Nop = 0x00,
  SetLocation = 0x01,
  Advance1 = 0x02,
  Advance2 = 0x03,
  Advance4 = 0x04,
  OffsetExtended = 0x05,
  RestoreExtended = 0x06,
  Undefined = 0x07,
  SameValue = 0x08,
  InRegister = 0x09,
  RememberState = 0x0a,
  RestoreState = 0x0b,
  DefineCfa = 0x0c,
  DefineCfaRegister = 0x0d,
  DefineCfaOffset = 0x0e,
  DefineCfaExpression = 0x0f,
  Expression = 0x10,
  OffsetExtendedSigned = 0x11,
  DefineCfaSigned = 0x12,
  DefineCfaOffsetSigned = 0x13,
  ValueOffset = 0x14,
  ValueOffsetSigned = 0x15,
  ValueExpression = 0x16,
  GnuArgumentsSize = 0x2e,
  GnuNegativeOffset = 0x2f,
};

Rule place(int base, std::int64_t offset) {
  return {RULE_AT, static_cast<signed char>(base), {}, static_cast<int>(offset)};
}
Rule value(int base, std::int64_t offset) {
  return {RULE_IS, static_cast<signed char>(base), {}, static_cast<int>(offset)};
}
constexpr Rule lost{RULE_LOST, 0, {}, 0}, same{RULE_SAME, 0, {}, 0}, other{RULE_OTHER, 0, {}, 0};

struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint8_t encoding = 0;
  bool has_augmentation = false;
  std::optional<Cursor> instructions;
};

/// CFA = rsp + offset, and 8 more from `threshold` on in each entry of 16 bytes: between the push and the jump of a
/// PLT.
struct PltRule {
  std::int64_t offset = 0;
  std::uint64_t threshold = 0;
};

/// What instructions have set.
struct State {
  Rule cfa = lost;
  std::array<Rule, registers> rules{};
  std::optional<PltRule> plt;
};

/// `breg N` alone, with or without a `deref`, is a rule; `reads`: the value is in memory there.
Rule rule_of(Cursor expression, bool reads) {
  constexpr std::uint8_t breg0 = 0x70, breg16 = 0x80, deref = 0x06;
  const auto operation = expression.take<std::uint8_t>();
  if (operation < breg0 || operation >= breg16) return other;
  const int base = operation - breg0;
  const std::int64_t offset = expression.signed_leb();
  if (expression.is_at_end()) return reads ? place(base, offset) : value(base, offset);
  const bool is_load = expression.take<std::uint8_t>() == deref && expression.is_at_end();
  return is_load && !reads ? place(base, offset) : other;
}

/// What link editors write: breg7 N; breg16 0; lit15; and; litN; ge; lit3; shl; plus.
std::optional<PltRule> plt_rule_of(Cursor expression) {
  constexpr std::uint8_t breg7 = 0x77, lit0 = 0x30, lit31 = 0x4f;
  PltRule rule;
  if (expression.take<std::uint8_t>() != breg7) return std::nullopt;
  rule.offset = expression.signed_leb();
  const std::array<std::uint8_t, 4> before{0x80, 0x00, 0x3f, 0x1a}, after{0x2a, 0x33, 0x24, 0x22};
  if (expression.left() != before.size() + 1 + after.size()) return std::nullopt;
  if (!std::equal(before.begin(), before.end(), expression.skip(before.size()))) return std::nullopt;
  const auto literal = expression.take<std::uint8_t>();
  if (literal < lit0 || literal > lit31) return std::nullopt;
  rule.threshold = literal - lit0;
  if (!std::equal(after.begin(), after.end(), expression.skip(after.size()))) return std::nullopt;
  return rule;
}

/// Executes the instructions of one FDE.
class Interpreter {
 public:
  Interpreter(const Cie& cie, std::uint64_t begin, std::uint64_t size, std::vector<Row>& rows)
      : cie_(cie), at_(begin), end_(begin + size), rows_(rows) {
    state_.rules.fill(same);
    state_.rules[return_address] = lost;
  }

  /// `address_of` says where the bytes of a pointer are in memory.
  template <typename AddressOf>
  void run(Cursor instructions, const AddressOf& address_of) {
    execute(*cie_.instructions, address_of);
    initial_ = state_;
    execute(instructions, address_of);
    advance_to(end_);
  }

 private:
  template <typename AddressOf>
  void execute(Cursor code, const AddressOf& address_of) {
    while (!code.is_at_end()) {
      const auto byte = code.take<std::uint8_t>();
      const std::uint8_t low = byte & 0x3fU;
      switch (byte >> 6U) {
        case 1:
          advance_to(at_ + low * cie_.code_alignment);
          break;
        case 2:
          set(low, place(BASE_CFA, static_cast<std::int64_t>(code.unsigned_leb()) * cie_.data_alignment));
          break;
        case 3:
          restore(low);
          break;
        default:
          if (low <= Advance4)
            move(low, code, address_of);
          else if (low >= DefineCfa && low <= DefineCfaExpression)
            define_cfa(low, code);
          else
            change(low, code);
      }
    }
  }

  template <typename AddressOf>
  void move(std::uint8_t instruction, Cursor& code, const AddressOf& address_of) {
    if (instruction == Nop) return;
    if (instruction == SetLocation) return advance_to(address_of(code, cie_.encoding));
    const std::size_t size = std::size_t{1} << (instruction - Advance1);
    advance_to(at_ + code.unsigned_of(size) * cie_.code_alignment);
  }

  void define_cfa(std::uint8_t instruction, Cursor& code) {
    state_.plt.reset();
    if (instruction == DefineCfa) {
      const std::uint64_t base = code.unsigned_leb();
      state_.cfa = value(static_cast<int>(base), static_cast<std::int64_t>(code.unsigned_leb()));
    } else if (instruction == DefineCfaExpression) {
      const Cursor expression = code.part(code.unsigned_leb());
      state_.plt = plt_rule_of(expression);
      state_.cfa = rule_of(expression, false);
    } else if (instruction == DefineCfaRegister) {
      state_.cfa = value(static_cast<int>(code.unsigned_leb()), state_.cfa.offset);
    } else {
      state_.cfa.offset = static_cast<int>(code.unsigned_leb());
    }
  }

  void change(std::uint8_t instruction, Cursor& code) {
    const auto scaled = [&] { return static_cast<std::int64_t>(code.unsigned_leb()) * cie_.data_alignment; };
    const auto scaled_signed = [&] { return code.signed_leb() * cie_.data_alignment; };
    if (instruction == RememberState) return remembered_.push_back(state_);
    if (instruction == RestoreState) {
      if (remembered_.empty()) throw std::runtime_error("a state is restored that was not remembered");
      state_ = remembered_.back();
      return remembered_.pop_back();
    }
    if (instruction == GnuArgumentsSize) return static_cast<void>(code.unsigned_leb());
    if (instruction == DefineCfaOffsetSigned)
      return static_cast<void>(state_.cfa.offset = static_cast<int>(scaled_signed()));
    const std::uint64_t reg = code.unsigned_leb();
    switch (instruction) {
      case OffsetExtended:
        return set(reg, place(BASE_CFA, scaled()));
      case OffsetExtendedSigned:
        return set(reg, place(BASE_CFA, scaled_signed()));
      case GnuNegativeOffset:
        return set(reg, place(BASE_CFA, -scaled()));
      case RestoreExtended:
        return restore(reg);
      case Undefined:
        return set(reg, lost);
      case SameValue:
        return set(reg, same);
      case InRegister:
        return set(reg, value(static_cast<int>(code.unsigned_leb()), 0));
      case DefineCfaSigned:
        state_.plt.reset();
        state_.cfa = value(static_cast<int>(reg), scaled_signed());
        return;
      case ValueOffset:
        return set(reg, value(BASE_CFA, scaled()));
      case ValueOffsetSigned:
        return set(reg, value(BASE_CFA, scaled_signed()));
      case Expression:
        return set(reg, rule_of(code.part(code.unsigned_leb()), true));
      case ValueExpression:
        return set(reg, rule_of(code.part(code.unsigned_leb()), false));
      default:
        throw std::runtime_error("an instruction of CFI is unknown");
    }
  }

  void set(std::uint64_t reg, const Rule& rule) {
    if (reg < registers) state_.rules[reg] = rule;
  }
  void restore(std::uint64_t reg) {
    if (reg < registers) state_.rules[reg] = initial_.rules[reg];
  }

  void advance_to(std::uint64_t address) {
    const std::uint64_t end = std::min(address, end_);
    if (end > at_) add_rows(end);
    at_ = std::max(at_, address);
  }

  /// Up to this address.
  void add_rows(std::uint64_t end) {
    constexpr std::uint64_t plt_entry = 16;
    Row row{};
    row.cfa = state_.cfa;
    row.return_address = state_.rules[return_address];
    row.frame_pointer = state_.rules[rbp];
    row.is_outermost = row.return_address.kind == RULE_LOST ? 1 : 0;
    // Another stack pointer than the CFA is more than a row of .sframe can say.
    const Rule& stack_pointer = state_.rules[rsp];
    const bool is_cfa = stack_pointer.kind == RULE_IS && stack_pointer.base == BASE_CFA && stack_pointer.offset == 0;
    if (stack_pointer.kind != RULE_SAME && !is_cfa) row.cfa = other;
    row.begin = at_;
    row.end = end;
    if (!state_.plt) return rows_.push_back(row);
    while (row.begin < end) {
      const std::uint64_t entry = row.begin - row.begin % plt_entry;
      const bool has_pushed = row.begin - entry >= state_.plt->threshold;
      row.cfa = value(rsp, state_.plt->offset + (has_pushed ? 8 : 0));
      row.end = std::min(end, entry + (has_pushed ? plt_entry : state_.plt->threshold));
      rows_.push_back(row);
      row.begin = row.end;
    }
  }

  const Cie& cie_;
  std::uint64_t at_, end_;
  std::vector<Row>& rows_;
  State state_, initial_;
  std::vector<State> remembered_;
};

class Reader {
 public:
  Reader(const ElfFile::Part& section, std::vector<Row>& rows) : section_(section), rows_(rows) {}

  /// Returns the number of FDEs.
  std::size_t read() {
    std::size_t count = 0;
    for (Cursor cursor = section_.cursor(); cursor.left() >= 4;) {
      const std::uint64_t begin = offset_of(cursor);
      std::uint64_t size = cursor.take<std::uint32_t>();
      if (size == 0) continue;  // the end of what one object has given
      if (size == 0xffffffff) size = cursor.take<std::uint64_t>();
      Cursor entry = cursor.part(size);
      const std::uint64_t id_at = offset_of(entry);
      const std::uint64_t id = entry.take<std::uint32_t>();
      if (id == 0) {
        read_cie(begin, entry);
      } else {
        const auto cie = cies_.find(id_at - id);
        if (cie == cies_.end()) throw std::runtime_error("an FDE has no CIE");
        if (read_fde(cie->second, entry)) ++count;
      }
    }
    return count;
  }

 private:
  std::uint64_t offset_of(const Cursor& cursor) const {
    return static_cast<std::uint64_t>(cursor.at() - section_.bytes);
  }

  void read_cie(std::uint64_t begin, Cursor& entry) {
    Cie cie;
    const auto version = entry.take<std::uint8_t>();
    const std::string_view augmentation = entry.string();
    if (version >= 4) entry.skip(2);
    cie.code_alignment = entry.unsigned_leb();
    cie.data_alignment = entry.signed_leb();
    if (version == 1)
      entry.skip(1);
    else
      entry.unsigned_leb();
    if (augmentation.starts_with('z')) {
      cie.has_augmentation = true;
      Cursor data = entry.part(entry.unsigned_leb());
      for (const char letter : augmentation.substr(1)) {
        if (letter == 'R') cie.encoding = data.take<std::uint8_t>();
        if (letter == 'L') data.skip(1);
        if (letter == 'P') {
          const auto encoding = data.take<std::uint8_t>();
          data.skip(encoding == omitted ? 0 : size_of(encoding));
        }
      }
    }
    cie.instructions = entry;
    cies_.emplace(begin, cie);
  }

  bool read_fde(const Cie& cie, Cursor& entry) {
    const std::uint64_t begin = take_pointer(entry, cie.encoding);
    const std::uint64_t size = entry.unsigned_of(size_of(cie.encoding));
    if (cie.has_augmentation) entry.skip(entry.unsigned_leb());
    if (size == 0 || begin == 0) return false;  // of code that the link editor has dropped
    Interpreter(cie, begin, size, rows_).run(entry, [this](Cursor& code, std::uint8_t encoding) {
      return take_pointer(code, encoding);
    });
    return true;
  }

  static std::size_t size_of(std::uint8_t encoding) {
    switch (encoding & 7U) {
      case 0:
      case 4:
        return 8;
      case 2:
        return 2;
      case 3:
        return 4;
      default:
        throw std::runtime_error("a pointer's encoding is unknown");
    }
  }

  std::uint64_t take_pointer(Cursor& cursor, std::uint8_t encoding) const {
    const std::uint64_t place_of_it = section_.address + offset_of(cursor);
    const bool is_relative = (encoding & pointer_is_relative) == relative_to_itself;
    const std::uint64_t pointer = (encoding & 8U) != 0 || is_relative
                                      ? static_cast<std::uint64_t>(cursor.signed_of(size_of(encoding)))
                                      : cursor.unsigned_of(size_of(encoding));
    return is_relative ? place_of_it + pointer : pointer;
  }

  ElfFile::Part section_;
  std::vector<Row>& rows_;
  std::map<std::uint64_t, Cie> cies_;  ///< by their offsets
};

}  // namespace

FileRows rows_of_cfi(const ElfFile& file, std::size_t& count) {
  FileRows result;
  result.segments = file.loads();
  const auto section = file.section(".eh_frame");
  if (!section) return result;  // to execute it, the judge still needs the segments
  count = Reader(*section, result.rows).read();
  put_in_order(result.rows);
  return result;
}

}  // namespace judge
