#include "sframe/rule_text.hpp"

#include <array>
#include <charconv>

#include "sframe/abi.hpp"
#include "sframe/version.hpp"

namespace sframe_gen::sframe {
namespace {

void append_number(std::string& line, std::int64_t value) {
  std::array<char, 20> digits{};
  line.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_signed(std::string& line, std::int64_t value) {
  if (value >= 0) line += '+';
  append_number(line, value);
}

}  // namespace

void RuleText::append_cfa(std::string& line, const Rule& rule, FdeType type) const {
  if (type == FdeType::Flexible) {
    append_rule(line, rule);
    return;
  }
  append_base(line, rule);
  // readelf puts a plus sign before the offset of a default descriptor, negative or not: "sp+-8".
  line += '+';
  append_number(line, rule.offset);
}

void RuleText::append_frame_pointer(std::string& line, const RecoveryRules& recovery) const {
  if (recovery.frame_pointer) {
    append_rule(line, *recovery.frame_pointer);
  } else if (section_->fixed_fp_offset != 0) {
    append_rule(line, {.base_register = std::nullopt, .offset = section_->fixed_fp_offset, .dereferenced = true});
  } else {
    line += 'u';
  }
}

void RuleText::append_return_address(std::string& line, const RecoveryRules& recovery, FdeType type) const {
  if (recovery.return_address) {
    append_rule(line, *recovery.return_address);
  } else if ((type == FdeType::Flexible || traits_->pads_return_address) && recovery.frame_pointer) {
    line += 'U';
  } else {
    line += section_->fixed_ra_offset != 0 ? 'f' : 'u';
  }
}

void RuleText::append_rule(std::string& line, const Rule& rule) const {
  // What is saved on the stack relative to the CFA goes without parentheses, as it can be nothing else.
  const bool parentheses = rule.dereferenced && rule.base_register;
  if (parentheses) line += '(';
  append_base(line, rule);
  // Up to version 2 a value is in a register as it is, or nowhere near it.
  const bool bare = rule.base_register && !rule.dereferenced && traits_of(section_->version).dumps_bare_registers;
  if (!bare) append_signed(line, rule.offset);
  if (parentheses) line += ')';
}

void RuleText::append_base(std::string& line, const Rule& rule) const {
  if (!rule.base_register) {
    line += 'c';
  } else if (*rule.base_register == traits_->stack_pointer) {
    line.append("sp");
  } else if (*rule.base_register == traits_->frame_pointer) {
    line.append("fp");
  } else {
    line += 'r';
    append_number(line, *rule.base_register);
  }
}

}  // namespace sframe_gen::sframe
