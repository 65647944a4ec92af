#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What a proof claims of code: the text that code-steps writes and the checker judges.
///
///     F START END                  a function, with the range of its own code
///     S PC [n] [tADDRESS,SIZE,COUNT] [>TARGET…] [FACT…]
///     S PC … =                     a step, where the same facts hold as at the one before
///
/// Steps ascend. `n`: a call that does not return. `t`: an indirect jump through the table at ADDRESS, whose COUNT
/// entries (0: not known) have SIZE bytes. A fact is PLACE=VALUE, where a place is a register's number, or a slot of
/// the stack
/// `[c-16` (at CFA-16) or `[a1234-16` (16 below what the `and` at 0x…1234 has rounded); a value is such a place without
/// `[`, `e5` (what register 5 held at the entry), `r` (the return address), `k8` (a constant) or `p` (of SP: somewhere
/// below the frame, in a loop of probes). Addresses are hexadecimal, all else is decimal.
namespace sframe_gen::checker {

/// A place on the stack.
struct Place {
  std::uint32_t base = 0;   ///< 0: the CFA; else the low half of the address of the `and` that has rounded
  std::int64_t offset = 0;  ///< bytes
  friend bool operator==(const Place&, const Place&) = default;
};

struct Value {
  enum class Kind : std::uint8_t { Unknown, Stack, Entry, ReturnAddress, Constant, Probing };
  Kind kind = Kind::Unknown;
  std::uint8_t reg = 0;     ///< of Kind::Entry
  Place place;              ///< of Kind::Stack
  std::int64_t number = 0;  ///< of Kind::Constant
  bool is(Kind other) const { return kind == other; }
  friend bool operator==(const Value&, const Value&) = default;
};

inline Value at(Place place) {
  return {Value::Kind::Stack, 0, place, 0};
}
inline Value constant(std::int64_t number) {
  return {Value::Kind::Constant, 0, {}, number};
}
inline Value entry_of(std::uint8_t reg) {
  return {Value::Kind::Entry, reg, {}, 0};
}
inline constexpr Value return_address{Value::Kind::ReturnAddress, 0, {}, 0};
inline constexpr Value probing{Value::Kind::Probing, 0, {}, 0};

struct Facts {
  std::array<Value, 16> registers;
  std::vector<std::pair<Place, Value>> slots;
};

struct Table {
  std::uint64_t address = 0, entry_size = 0, count = 0;
};

struct Step {
  std::uint64_t pc = 0;
  bool is_endless_call = false;
  std::optional<Table> table;
  std::vector<std::uint64_t> targets;
  std::size_t facts = 0;  ///< index
};

struct Function {
  std::uint64_t start = 0, end = 0;
  std::vector<Step> steps;
  std::vector<Facts> facts;
  /// Null: there is none.
  const Step* find(std::uint64_t pc) const;
};

std::string text_of(const Place& place);
std::string text_of(const Value& value);

/// Reads one function; false at the end. `header` keeps the line that begins the next one. Throws std::runtime_error
/// for text that is no listing.
bool read_function(std::istream& in, std::string& header, Function& function);
std::string text_of(const Function& function);

}  // namespace sframe_gen::checker
