#include "sframe/abi.hpp"
#include "verify/caller.hpp"
#include "verify/expression_value.hpp"
#include "verify/rule_text.hpp"
#include "verify/signing_state.hpp"
#include "verify/stack_pointer_proof.hpp"

namespace sframe_gen::verify {

namespace {

using verify::DwarfSession;
using verify::EvaluatedRule;
using Kind = EvaluatedRule::Kind;

/// One FDE at one PC, evaluated by libdwarf.
class DwarfFrame {
 public:
  DwarfFrame(const DwarfSession& session, std::size_t fde_index, std::uint64_t pc, const sframe::AbiTraits& abi,
             StackPointerProofs& proofs, Wording wording)
      : session_(session),
        fde_index_(fde_index),
        pc_(pc),
        abi_(abi),
        proofs_(proofs),
        wording_(wording),
        context_(pc, abi) {}

  Caller caller() {
    Caller caller;
    if (is_bare(rule(abi_.return_address), DwarfSession::undefined_column)) {
      caller.exists = false;
      caller.text = "RA undefined";
      return caller;
    }
    cfa_ = cfa(rule(DwarfSession::cfa_column), caller.cfa_text);
    std::string ra_text, fp_text, sp_text;
    // Where calls push the RA, a register that still held it would be no register of the machine.
    const bool ra_has_register = abi_.fixed_ra_offset == 0;
    caller.return_address =
        value(abi_.return_address, ra_has_register ? own_value(abi_.return_address) : std::nullopt, ra_text);
    caller.frame_pointer = value(abi_.frame_pointer, own_value(abi_.frame_pointer), fp_text);
    caller.stack_pointer = stack_pointer(sp_text);
    if (abi_.signs_return_address) caller.signing = signing();
    caller.depends_on_pc = context_.pc_was_read();
    say(caller.text, [&] {
      return "CFA " + caller.cfa_text + ", RA " + ra_text + text_of(caller.signing) + ", FP " + fp_text +
             (sp_text == "same value" ? "" : ", SP " + sp_text);
    });
    return caller;
  }

 private:
  EvaluatedRule rule(std::uint32_t column) const {
    return session_.evaluate(fde_index_, static_cast<std::uint16_t>(column), pc_);
  }

  template <typename Make>
  void say(std::string& text, const Make& make) const {
    if (wording_ == Wording::Texts) text = make();
  }

  std::optional<std::uint64_t> own_value(std::uint32_t column) const { return context_.register_value(column); }

  /// The ABI: the CFA is the caller's stack pointer (plus a constant) unless a rule says otherwise. (Nobody writes
  /// same_value for it; it would say that the call moved nothing.) The slot that the ABI keeps it in holds that value.
  std::optional<std::uint64_t> stack_pointer(std::string& text) const {
    auto usual = cfa_;
    if (usual) *usual += static_cast<std::uint64_t>(std::int64_t{abi_.stack_pointer_bias});
    const EvaluatedRule saved = rule(abi_.stack_pointer);
    const bool in_slot = abi_.stack_pointer_slot != 0 && saved.kind == Kind::Offset && saved.offset_relevant &&
                         saved.offset == abi_.stack_pointer_slot;
    const auto found = value(abi_.stack_pointer, usual, text);
    const bool in_register = !saved.offset_relevant && saved.base < DwarfSession::undefined_column;
    const bool kept = saved.kind == Kind::Offset && (saved.offset_relevant || in_register);
    return in_slot || (kept && proofs_.holds(session_, fde_index_, abi_)) ? usual : found;
  }

  Caller::Signing signing() const {
    const auto state = signed_at(session_.table(), fde_index_, pc_);
    if (!state) return Caller::Signing::Unknown;
    if (!*state) return Caller::Signing::None;
    const cfi::FrameTable& table = session_.table();
    const bool b_key = table.cies[table.fdes[fde_index_].cie_index].b_key;
    return b_key ? Caller::Signing::KeyB : Caller::Signing::KeyA;
  }

  static bool is_bare(const EvaluatedRule& rule, std::uint64_t column) {
    return rule.kind == Kind::Offset && !rule.offset_relevant && rule.base == column;
  }

  std::optional<std::uint64_t> run(const EvaluatedRule& rule, std::optional<std::uint64_t> initial) const {
    return expression_value(rule.block, initial, context_, session_.table().endian, session_.table().origin);
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
    say(text, [&] { return place_text(register_name(abi_.abi, rule.base), rule.offset, false); });
    return context_.register_value(rule.base) + static_cast<std::uint64_t>(rule.offset);
  }

  /// `if_same`: the value where there is no rule, or the rule is "same value": libdwarf does not tell the two apart.
  std::optional<std::uint64_t> value(std::uint32_t column, std::optional<std::uint64_t> if_same,
                                     std::string& text) const {
    const EvaluatedRule rule = this->rule(column);
    switch (rule.kind) {
      case Kind::Offset:
        if (!rule.offset_relevant) return bare_value(rule.base, if_same, text);
        say(text, [&] { return place_text("CFA", rule.offset, true); });
        if (!cfa_) return std::nullopt;
        return context_.read_memory(*cfa_ + static_cast<std::uint64_t>(rule.offset));
      case Kind::ValOffset:
        say(text, [&] { return place_text("CFA", rule.offset, false); });
        if (!cfa_) return std::nullopt;
        return *cfa_ + static_cast<std::uint64_t>(rule.offset);
      case Kind::Expression: {
        text = "at expression";
        const auto address = cfa_ ? run(rule, cfa_) : std::nullopt;
        return address ? std::optional(context_.read_memory(*address)) : std::nullopt;
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
    say(text, [&] { return register_name(abi_.abi, base); });
    return context_.register_value(base);
  }

  const DwarfSession& session_;
  std::size_t fde_index_;
  std::uint64_t pc_;
  const sframe::AbiTraits& abi_;
  StackPointerProofs& proofs_;
  Wording wording_;
  SyntheticContext context_;
  std::optional<std::uint64_t> cfa_;
};

}  // namespace

Caller dwarf_caller(const DwarfSession& session, std::size_t fde_index, std::uint64_t pc, const sframe::AbiTraits& abi,
                    StackPointerProofs& proofs, Wording wording) {
  return DwarfFrame(session, fde_index, pc, abi, proofs, wording).caller();
}

}  // namespace sframe_gen::verify
