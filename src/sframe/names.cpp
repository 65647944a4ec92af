#include "sframe/names.hpp"

#include <array>

#include "support/dwarf_registers.hpp"

namespace sframe_gen::sframe {

namespace {

std::string amd64_name(std::uint64_t number) {
  // psABI, figure 3.36.
  static constexpr std::array<const char*, 17> names{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
  return number < names.size() ? names[number] : "r" + std::to_string(number);
}

/// DWARF for the Arm 64-bit Architecture, table 1.
std::string aarch64_name(std::uint64_t number) {
  if (number < aarch64_general_registers) return "x" + std::to_string(number);
  if (number == aarch64_registers.stack_pointer) return "sp";
  if (number >= 64 && number <= 95) return "v" + std::to_string(number - 64);
  return "column " + std::to_string(number);
}

/// s390x ABI supplement, table 1.7: the floating-point registers are not in order.
std::string s390x_name(std::uint64_t number) {
  constexpr std::uint32_t general = s390x_general_registers;
  if (number < general) return "r" + std::to_string(number);
  if (number < general + s390x_floating_point_order.size())
    return "f" + std::to_string(s390x_floating_point_order[number - general]);
  return "column " + std::to_string(number);
}

}  // namespace

std::string register_name(Abi abi, std::uint64_t number) {
  switch (abi) {
    case Abi::Amd64:
      return amd64_name(number);
    case Abi::Aarch64Big:
    case Abi::Aarch64Little:
      return aarch64_name(number);
    case Abi::S390x:
      return s390x_name(number);
  }
  return {};
}

std::string place_text(const std::string& base, std::int64_t offset, bool dereferenced) {
  std::string text = base;
  if (offset != 0 || dereferenced) text += (offset < 0 ? "" : "+") + std::to_string(offset);
  return dereferenced ? "*(" + text + ")" : text;
}

std::string text_of(const Rule& rule, Abi abi) {
  const std::string base = rule.base_register ? register_name(abi, *rule.base_register) : "CFA";
  return place_text(base, rule.offset, rule.dereferenced);
}

}  // namespace sframe_gen::sframe
