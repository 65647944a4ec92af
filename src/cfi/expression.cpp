#include "cfi/expression.hpp"

#include <algorithm>
#include <array>

#include "cfi/instruction.hpp"

namespace sframe_gen::cfi {

namespace {

using Kind = DecodedOperation::Kind;

/// A value on the stack: a constant, base + offset, or *(base + offset). The base is a register or the CFA.
struct Symbol {
  bool has_base = false;
  Formula formula;
};

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_negate(std::int64_t a) {
  return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
}

/// The stack machine over symbols; every step says whether the result is still a symbol.
class SymbolStack {
 public:
  void push(const Symbol& symbol) { stack_.push_back(symbol); }

  bool apply(const DecodedOperation& operation) {
    switch (operation.kind) {
      case Kind::PushConstant:
        push({false, {std::nullopt, operation.constant, false}});
        return true;
      case Kind::PushRegister:
        push({true, {operation.base, operation.constant, false}});
        return true;
      case Kind::AddConstant:
        return add_to_top(operation.constant);
      case Kind::Plain:
        return apply_plain(operation.plain);
    }
    return false;
  }

  const Symbol* top() const { return stack_.empty() ? nullptr : &stack_.back(); }

 private:
  bool apply_plain(Operation operation) {
    if (stack_.empty()) return false;
    switch (operation) {
      case Operation::Deref:
        return dereference();
      case Operation::Dup:
        push(Symbol(stack_.back()));
        return true;
      case Operation::Drop:
        stack_.pop_back();
        return true;
      case Operation::Swap:
        if (stack_.size() < 2) return false;
        std::swap(stack_.back(), stack_[stack_.size() - 2]);
        return true;
      case Operation::Plus:
        return plus();
      case Operation::Minus:
        return minus();
      default:
        return false;
    }
  }

  bool dereference() {
    Symbol& symbol = stack_.back();
    if (!symbol.has_base || symbol.formula.dereferenced) return false;
    symbol.formula.dereferenced = true;
    return true;
  }

  /// *(base + offset) + constant is no Formula, unless the constant is zero.
  bool add_to_top(std::int64_t constant) {
    if (stack_.empty()) return false;
    Formula& formula = stack_.back().formula;
    if (formula.dereferenced) return constant == 0;
    formula.offset = wrapping_add(formula.offset, constant);
    return true;
  }

  bool plus() {
    if (stack_.size() < 2) return false;
    Symbol right = stack_.back();
    stack_.pop_back();
    if (right.has_base) std::swap(right, stack_.back());
    return !right.has_base && add_to_top(right.formula.offset);
  }

  bool minus() {
    if (stack_.size() < 2) return false;
    const Symbol right = stack_.back();
    stack_.pop_back();
    return !right.has_base && add_to_top(wrapping_negate(right.formula.offset));
  }

  std::vector<Symbol> stack_;
};

std::variant<Formula, OtherExpression> run(SymbolStack stack, const std::vector<DecodedOperation>& operations) {
  for (const DecodedOperation& operation : operations) {
    if (!stack.apply(operation)) return OtherExpression{};
  }
  const Symbol* top = stack.top();
  if (top == nullptr || !top->has_base) return OtherExpression{};
  return top->formula;
}

/// GNU ld describes the entries of a lazy PLT by one expression over the low bits of rip:
///   breg7 8; breg16 0; lit15; and; lit11 (with IBT: lit9); ge; lit3; shl; plus
/// Seen in every x86-64 file with a lazy PLT that GNU ld or gold made.
std::optional<PltStub> match_plt_stub(const std::vector<DecodedOperation>& operations) {
  const auto plain = [](Operation operation) { return DecodedOperation{Kind::Plain, operation, {}, 0}; };
  const auto literal = [](std::int64_t value) { return DecodedOperation{Kind::PushConstant, {}, {}, value}; };
  if (operations.size() != 9) return std::nullopt;
  const DecodedOperation& base = operations[0];
  const DecodedOperation& threshold = operations[4];
  if (base.kind != Kind::PushRegister || threshold.kind != Kind::PushConstant) return std::nullopt;
  if (threshold.constant <= 0 || threshold.constant >= plt_entry_size) return std::nullopt;
  const std::array<DecodedOperation, 9> expected{base,
                                                 {Kind::PushRegister, {}, amd64::return_address, 0},
                                                 literal(plt_entry_size - 1),
                                                 plain(Operation::And),
                                                 threshold,
                                                 plain(Operation::Ge),
                                                 literal(3),
                                                 plain(Operation::Shl),
                                                 plain(Operation::Plus)};
  if (!std::equal(expected.begin(), expected.end(), operations.begin())) return std::nullopt;
  return PltStub{base.base, base.constant, static_cast<std::uint8_t>(threshold.constant)};
}

}  // namespace

std::variant<Formula, OtherExpression> evaluate_register_expression(const ExpressionBytes& expression) {
  const auto operations = decode_operations(expression);
  if (!operations) return OtherExpression{};
  SymbolStack stack;
  stack.push({true, Formula{}});  // DWARF 5, section 6.4.2.3: the CFA is pushed first
  return run(std::move(stack), *operations);
}

CfaRule evaluate_cfa_expression(const ExpressionBytes& expression) {
  const auto operations = decode_operations(expression);
  if (!operations) return OtherExpression{};
  if (const auto stub = match_plt_stub(*operations)) return *stub;
  const auto value = run({}, *operations);
  if (const auto* formula = std::get_if<Formula>(&value)) return *formula;
  return OtherExpression{};
}

}  // namespace sframe_gen::cfi
