#include "verify/caller.hpp"

#include <vector>

#include "sframe/format.hpp"
#include "sframe/names.hpp"
#include "support/bytes.hpp"
#include "verify/proofs.hpp"

namespace sframe_gen::verify {

namespace {

/// A plain stack machine over 64-bit numbers, for DWARF expressions. cfi/instruction.cpp works on symbols: the two must
/// agree without sharing a line.
class StackMachine {
 public:
  StackMachine(ByteReader reader, const SyntheticContext& context) : reader_(reader), context_(context) {}

  bool push(std::uint64_t value) {
    constexpr std::size_t most_values = 1000;
    if (stack_.size() == most_values) return false;
    stack_.push_back(value);
    return true;
  }

  std::optional<std::uint64_t> run() {
    while (!reader_.at_end()) {
      const unsigned operation = reader_.u8("operation");
      if (!(push_operand(operation) || unary(operation) || shuffle(operation) || binary(operation)))
        return std::nullopt;
    }
    if (stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  bool push_operand(unsigned operation) {
    if (operation >= 0x30 && operation <= 0x4f) return pushed(operation - 0x30);  // DW_OP_lit
    if (operation >= 0x70 && operation <= 0x8f) {                                 // DW_OP_breg
      return pushed(context_.register_value(operation - 0x70) + static_cast<std::uint64_t>(reader_.sleb128("offset")));
    }
    switch (operation) {
      case 0x03:
        return pushed(reader_.u64("address"));
      case 0x08:
        return pushed(reader_.u8("constant"));
      case 0x09:
        return pushed_signed(reader_.i8("constant"));
      case 0x0a:
        return pushed(reader_.u16("constant"));
      case 0x0b:
        return pushed_signed(reader_.i16("constant"));
      case 0x0c:
        return pushed(reader_.u32("constant"));
      case 0x0d:
        return pushed_signed(reader_.i32("constant"));
      case 0x0e:
      case 0x0f:
        return pushed(reader_.u64("constant"));
      case 0x10:
        return pushed(reader_.uleb128("constant"));
      case 0x11:
        return pushed_signed(reader_.sleb128("constant"));
      case 0x92: {  // DW_OP_bregx
        const std::uint64_t number = reader_.uleb128("register");
        return pushed(context_.register_value(number) + static_cast<std::uint64_t>(reader_.sleb128("offset")));
      }
      case 0x96:
        return true;  // DW_OP_nop
      default:
        return false;
    }
  }

  bool unary(unsigned operation) {
    if (stack_.empty()) return false;
    std::uint64_t& top = stack_.back();
    switch (operation) {
      case 0x06:
        top = context_.read_memory(top);
        return true;  // deref
      case 0x94: {    // deref_size
        if (reader_.u8("size") != 8) return false;
        top = context_.read_memory(top);
        return true;
      }
      case 0x19:
        if ((top >> 63U) != 0) top = 0 - top;
        return true;  // abs
      case 0x1f:
        top = 0 - top;
        return true;  // neg
      case 0x20:
        top = ~top;
        return true;  // not
      case 0x23:
        top += reader_.uleb128("constant");
        return true;  // plus_uconst
      default:
        return false;
    }
  }

  bool shuffle(unsigned operation) {
    const std::size_t size = stack_.size();
    switch (operation) {
      case 0x12:
        return size >= 1 && pushed(stack_[size - 1]);  // dup
      case 0x13:
        return size >= 1 && (stack_.pop_back(), true);  // drop
      case 0x14:
        return size >= 2 && pushed(stack_[size - 2]);  // over
      case 0x16:
        return size >= 2 && (std::swap(stack_[size - 1], stack_[size - 2]), true);  // swap
      default:
        return false;
    }
  }

  bool binary(unsigned operation) {
    if (stack_.size() < 2) return false;
    const std::uint64_t right = stack_.back();
    const std::uint64_t left = stack_[stack_.size() - 2];
    const auto result = combine(operation, left, right);
    if (!result) return false;
    stack_.pop_back();
    stack_.back() = *result;
    return true;
  }

  static std::optional<std::uint64_t> combine(unsigned operation, std::uint64_t left, std::uint64_t right) {
    const auto a = static_cast<std::int64_t>(left);
    const auto b = static_cast<std::int64_t>(right);
    const bool far = right >= 64;
    switch (operation) {
      case 0x1a:
        return left & right;
      case 0x1c:
        return left - right;
      case 0x1e:
        return left * right;
      case 0x21:
        return left | right;
      case 0x22:
        return left + right;
      case 0x24:
        return far ? 0 : left << right;
      case 0x25:
        return far ? 0 : left >> right;
      case 0x26:
        return static_cast<std::uint64_t>(a >> (far ? 63U : right));
      case 0x27:
        return left ^ right;
      case 0x29:
        return a == b ? 1U : 0U;
      case 0x2a:
        return a >= b ? 1U : 0U;
      case 0x2b:
        return a > b ? 1U : 0U;
      case 0x2c:
        return a <= b ? 1U : 0U;
      case 0x2d:
        return a < b ? 1U : 0U;
      case 0x2e:
        return a != b ? 1U : 0U;
      default:
        return std::nullopt;
    }
  }

  bool pushed(std::uint64_t value) { return push(value); }
  bool pushed_signed(std::int64_t value) { return pushed(static_cast<std::uint64_t>(value)); }

  ByteReader reader_;
  const SyntheticContext& context_;
  std::vector<std::uint64_t> stack_;
};

/// Returns base + offset, or the word at that place if the rule says so (SFrame V3, section 3.2, "Recovery Rules").
std::uint64_t apply(const sframe::Rule& rule, std::uint64_t cfa, const SyntheticContext& context) {
  const std::uint64_t base = rule.base_register ? context.register_value(*rule.base_register) : cfa;
  const std::uint64_t place = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  return rule.dereferenced ? context.read_memory(place) : place;
}

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
    // If calls push the RA, a register that still held it would be no register of the machine.
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

  /// Returns the caller's stack pointer. By the ABI, it is the CFA (plus a constant) unless a rule says otherwise. (No
  /// compiler writes same_value for it, which would say that the call moved nothing.) The slot that the ABI keeps it in
  /// holds that value.
  std::optional<std::uint64_t> stack_pointer(std::string& text) const {
    auto usual = cfa_;
    if (usual) *usual += static_cast<std::uint64_t>(std::int64_t{abi_.stack_pointer_bias});
    const EvaluatedRule saved = rule(abi_.stack_pointer);
    const auto by_rule = value(abi_.stack_pointer, usual, text);
    const bool in_slot = abi_.stack_pointer_slot != 0 && cfa_ && by_rule == value_in_slot();
    const bool in_register = !saved.offset_relevant && saved.base < DwarfSession::undefined_column;
    const bool kept = saved.kind == Kind::Offset && (saved.offset_relevant || in_register);
    return in_slot || (kept && proofs_.holds(session_, fde_index_, abi_)) ? usual : by_rule;
  }

  std::uint64_t value_in_slot() const {
    return context_.read_memory(*cfa_ + static_cast<std::uint64_t>(std::int64_t{abi_.stack_pointer_slot}));
  }

  Caller::Signing signing() const {
    const auto state = signed_at(session_.table(), fde_index_, pc_);
    if (!state) return Caller::Signing::Unknown;
    if (!*state) return Caller::Signing::None;
    return session_.table().cie_of(fde_index_).b_key ? Caller::Signing::KeyB : Caller::Signing::KeyA;
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
    say(text, [&] { return sframe::place_text(sframe::register_name(abi_.abi, rule.base), rule.offset, false); });
    return context_.register_value(rule.base) + static_cast<std::uint64_t>(rule.offset);
  }

  /// Returns the caller's value of a column. `if_same`: the value if there is no rule, or the rule is "same value",
  /// which libdwarf does not tell apart.
  std::optional<std::uint64_t> value(std::uint32_t column, std::optional<std::uint64_t> if_same,
                                     std::string& text) const {
    const EvaluatedRule rule = this->rule(column);
    switch (rule.kind) {
      case Kind::Offset:
        if (!rule.offset_relevant) return bare_value(rule.base, if_same, text);
        say(text, [&] { return sframe::place_text("CFA", rule.offset, true); });
        if (!cfa_) return std::nullopt;
        return context_.read_memory(*cfa_ + static_cast<std::uint64_t>(rule.offset));
      case Kind::ValOffset:
        say(text, [&] { return sframe::place_text("CFA", rule.offset, false); });
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
    say(text, [&] { return sframe::register_name(abi_.abi, base); });
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

bool same_caller(const Caller& a, const Caller& b) {
  if (!a.exists || !b.exists) return a.exists == b.exists;
  const auto same = [](const std::optional<std::uint64_t>& x, const std::optional<std::uint64_t>& y) {
    return x && y && *x == *y;
  };
  return a.signing == b.signing && a.signing != Caller::Signing::Unknown && same(a.stack_pointer, b.stack_pointer) &&
         same(a.frame_pointer, b.frame_pointer) && same(a.return_address, b.return_address);
}

std::string text_of(Caller::Signing signing) {
  switch (signing) {
    case Caller::Signing::None:
      return "";
    case Caller::Signing::KeyA:
      return " (signed with the A key)";
    case Caller::Signing::KeyB:
      return " (signed with the B key)";
    case Caller::Signing::Unknown:
      return " (signed in a way that SFrame cannot represent)";
  }
  return {};
}

std::optional<std::uint64_t> expression_value(std::span<const std::byte> block, std::optional<std::uint64_t> initial,
                                              const SyntheticContext& context, Endian endian,
                                              const InputOrigin& origin) {
  StackMachine machine(ByteReader(block, endian, origin), context);
  if (initial) machine.push(*initial);
  return machine.run();
}

Caller sframe_caller(const std::optional<sframe::RecoveryRules>& recovery, const sframe::Fde& fde,
                     const sframe::Section& section, std::uint64_t pc, Wording wording) {
  Caller caller;
  if (!recovery) {
    caller.exists = false;
    caller.text = "RA undefined";
    return caller;
  }
  const sframe::AbiTraits& abi = sframe::traits_of(section.abi);
  const SyntheticContext context(pc, abi);
  const std::uint64_t cfa = apply(recovery->cfa, 0, context);
  // An RA without a fixed place is still in its register.
  const sframe::Rule default_place = section.fixed_ra_offset != 0 ? sframe::Rule::at_cfa(section.fixed_ra_offset)
                                                                  : sframe::Rule::in_register(abi.return_address);
  const sframe::Rule return_address = recovery->return_address.value_or(default_place);
  const sframe::Rule frame_pointer = recovery->frame_pointer.value_or(sframe::Rule::in_register(abi.frame_pointer));
  caller.stack_pointer = cfa + static_cast<std::uint64_t>(std::int64_t{abi.stack_pointer_bias});
  caller.return_address = apply(return_address, cfa, context);
  caller.frame_pointer = apply(frame_pointer, cfa, context);
  if (recovery->mangled_ra) caller.signing = fde.b_key ? Caller::Signing::KeyB : Caller::Signing::KeyA;
  if (wording == Wording::Numbers) return caller;
  caller.cfa_text = sframe::text_of(recovery->cfa, section.abi);
  caller.text = "CFA " + caller.cfa_text + ", RA " + sframe::text_of(return_address, section.abi) +
                text_of(caller.signing) + ", FP " + sframe::text_of(frame_pointer, section.abi);
  return caller;
}

Caller dwarf_caller(const DwarfSession& session, std::size_t fde_index, std::uint64_t pc, const sframe::AbiTraits& abi,
                    StackPointerProofs& proofs, Wording wording) {
  return DwarfFrame(session, fde_index, pc, abi, proofs, wording).caller();
}

}  // namespace sframe_gen::verify
