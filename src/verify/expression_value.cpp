#include "verify/expression_value.hpp"

#include <vector>

#include "support/byte_reader.hpp"

namespace sframe_gen::verify {

namespace {

/// A plain stack machine over 64-bit numbers. Written apart from cfi/expression.cpp, which works on symbols: the two
/// must agree without sharing a line.
class Evaluator {
 public:
  Evaluator(ByteReader reader, const SyntheticContext& context) : reader_(reader), context_(context) {}

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

}  // namespace

std::optional<std::uint64_t> expression_value(std::span<const std::byte> block, std::optional<std::uint64_t> initial,
                                              const SyntheticContext& context, Endian endian, const Origin& origin) {
  Evaluator evaluator(ByteReader(block, endian, origin), context);
  if (initial) evaluator.push(*initial);
  return evaluator.run();
}

}  // namespace sframe_gen::verify
