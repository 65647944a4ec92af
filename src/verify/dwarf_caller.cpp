#include "verify/caller.hpp"
#include "verify/expression_value.hpp"
#include "verify/rule_text.hpp"

namespace sframe_gen::verify {

namespace {

using cfi::DwarfSession;
using cfi::EvaluatedRule;
using Kind = EvaluatedRule::Kind;

/// AMD64 psABI, figure 3.36.
constexpr std::uint16_t frame_pointer_column = 6, stack_pointer_column = 7, return_address_column = 16;

/// One FDE at one PC, evaluated by libdwarf.
class DwarfFrame {
 public:
  DwarfFrame(const DwarfSession& session, std::size_t entry_index, std::uint64_t pc)
      : session_(session), entry_index_(entry_index), pc_(pc), machine_(pc) {}

  Caller caller() {
    Caller caller;
    if (is_bare(rule(return_address_column), DwarfSession::undefined_column)) {
      caller.exists = false;
      caller.text = "RA undefined";
      return caller;
    }
    cfa_ = cfa(rule(DwarfSession::cfa_column), caller.cfa_text);
    std::string ra_text, fp_text, sp_text;
    caller.return_address = value(return_address_column, std::nullopt, ra_text);
    caller.frame_pointer = value(frame_pointer_column, machine_.register_value(frame_pointer_column), fp_text);
    // The ABI: the CFA is the caller's stack pointer unless a rule says otherwise. (Nobody writes same_value for rsp;
    // it would say that the call moved nothing.)
    caller.stack_pointer = value(stack_pointer_column, cfa_, sp_text);
    caller.text = "CFA " + caller.cfa_text + ", RA " + ra_text + ", FP " + fp_text;
    if (sp_text != "same value") caller.text += ", SP " + sp_text;
    return caller;
  }

 private:
  EvaluatedRule rule(std::uint16_t column) const { return session_.evaluate(entry_index_, column, pc_); }

  static bool is_bare(const EvaluatedRule& rule, std::uint64_t column) {
    return rule.kind == Kind::Offset && !rule.offset_relevant && rule.base == column;
  }

  std::optional<std::uint64_t> run(const EvaluatedRule& rule, std::optional<std::uint64_t> initial) const {
    return expression_value(rule.block, initial, machine_, session_.table().endian, session_.table().origin);
  }

  std::optional<std::uint64_t> cfa(const EvaluatedRule& rule, std::string& text) const {
    if (rule.kind == Kind::Expression || rule.kind == Kind::ValExpression) {
      text = "expression";
      return run(rule, std::nullopt);
    }
    if (!rule.offset_relevant || rule.base >= DwarfSession::undefined_column) {
      text = "unspecified";
      return std::nullopt;
    }
    text = place_text(register_name(rule.base), rule.offset, false);
    return machine_.register_value(rule.base) + static_cast<std::uint64_t>(rule.offset);
  }

  /// `if_same`: the value where there is no rule, or the rule is "same value": libdwarf does not tell the two apart.
  std::optional<std::uint64_t> value(std::uint16_t column, std::optional<std::uint64_t> if_same,
                                     std::string& text) const {
    const EvaluatedRule rule = this->rule(column);
    switch (rule.kind) {
      case Kind::Offset:
        if (!rule.offset_relevant) return bare_value(rule.base, if_same, text);
        text = place_text("CFA", rule.offset, true);
        if (!cfa_) return std::nullopt;
        return machine_.read_memory(*cfa_ + static_cast<std::uint64_t>(rule.offset));
      case Kind::ValOffset:
        text = place_text("CFA", rule.offset, false);
        if (!cfa_) return std::nullopt;
        return *cfa_ + static_cast<std::uint64_t>(rule.offset);
      case Kind::Expression: {
        text = "at expression";
        const auto address = cfa_ ? run(rule, cfa_) : std::nullopt;
        return address ? std::optional(machine_.read_memory(*address)) : std::nullopt;
      }
      case Kind::ValExpression:
        text = "expression";
        return cfa_ ? run(rule, cfa_) : std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> bare_value(std::uint64_t base, std::optional<std::uint64_t> if_same,
                                          std::string& text) const {
    if (base == DwarfSession::undefined_column) {
      text = "undefined";
      return std::nullopt;
    }
    if (base == DwarfSession::same_value_column) {
      text = "same value";
      return if_same;
    }
    text = register_name(base);
    return machine_.register_value(base);
  }

  const DwarfSession& session_;
  std::size_t entry_index_;
  std::uint64_t pc_;
  Machine machine_;
  std::optional<std::uint64_t> cfa_;
};

}  // namespace

Caller dwarf_caller(const DwarfSession& session, std::size_t entry_index, std::uint64_t pc) {
  return DwarfFrame(session, entry_index, pc).caller();
}

}  // namespace sframe_gen::verify
