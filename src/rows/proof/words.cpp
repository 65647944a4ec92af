#include "rows/proof/words.hpp"

#include <iterator>

#include "support/text.hpp"

namespace sframe_gen::rows::proof {

namespace {

std::string register_name(RegisterNumber reg) {
  static constexpr const char* names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  return reg < std::size(names) ? names[reg] : "a register";
}

/// By DWARF's numbers.
std::string dwarf_name(cfi::DwarfRegister number) {
  static constexpr const char* names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  const auto index = static_cast<std::uint32_t>(number);
  return index < std::size(names) ? names[index] : "r" + std::to_string(index);
}

std::string with_sign(std::int64_t number) {
  return number == 0 ? "" : (number > 0 ? "+" : "") + std::to_string(number);
}

std::string words_of(const cfi::Formula& formula) {
  const std::string place = (formula.base ? dwarf_name(*formula.base) : "CFA") + with_sign(formula.offset);
  return formula.dereferenced ? "*(" + place + ")" : place;
}

template <typename... Words>
std::string words_of(const std::variant<Words...>& rule) {
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  return formula == nullptr ? "unchanged" : words_of(*formula);
}

std::string words_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Unknown:
    case Value::Kind::Probing:
      return "something else";
    case Value::Kind::Defined:
      return "what " + hex(static_cast<std::uint64_t>(value.number)) + " made";
    case Value::Kind::Entry:
      return "the caller's " + register_name(value.reg);
    case Value::Kind::ReturnAddress:
      return "the return address";
    case Value::Kind::Cfa:
      return "CFA" + with_sign(value.number);
    case Value::Kind::Aligned:
      return "an aligned address" + with_sign(value.number);
    case Value::Kind::Constant:
      return hex(static_cast<std::uint64_t>(value.number));
    case Value::Kind::ScaledIndex:
    case Value::Kind::TableWord:
    case Value::Kind::TableEntry:
    case Value::Kind::TableTarget:
    case Value::Kind::TableAddress:
      return "an entry of a jump table";
  }
  return "";
}

}  // namespace

std::string words_of(const cfi::Rules& rules, const Disagreement& found) {
  switch (found.column) {
    case Disagreement::Column::Cfa:
      return "CFA " + words_of(rules.cfa);
    case Disagreement::Column::ReturnAddress:
      return "RA " + words_of(rules.return_address);
    case Disagreement::Column::FramePointer:
      return "FP " + words_of(rules.frame_pointer);
  }
  return "";
}

std::string words_of(const Disagreement& found) {
  return (found.column == Disagreement::Column::Cfa ? "that is " : "there is ") + words_of(found.base);
}

}  // namespace sframe_gen::rows::proof
