#include "verify/rule_text.hpp"

#include <array>

namespace sframe_gen::verify {

std::string register_name(std::uint64_t number) {
  // psABI, figure 3.36.
  static constexpr std::array<const char*, 17> names{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
  return number < names.size() ? names[number] : "r" + std::to_string(number);
}

std::string place_text(const std::string& base, std::int64_t offset, bool dereferenced) {
  std::string text = base;
  if (offset != 0 || dereferenced) text += (offset < 0 ? "" : "+") + std::to_string(offset);
  return dereferenced ? "*(" + text + ")" : text;
}

}  // namespace sframe_gen::verify
