#pragma once

#include <cstdint>
#include <string_view>

#include "rows/proof/instruction.hpp"
#include "rows/proof/state.hpp"

/// The conditions on which a proof is sound, one predicate each. Take one out, and some code gets wrong rows:
/// tests/rows/proof/conditions.s has that code for each.
namespace sframe_gen::rows::proof::conditions {

/// How one knows that an address is the start of a function.
struct Evidence {
  bool is_called = false;      ///< a direct call from reached code
  bool is_symbol = false;      ///< a function symbol, or the file's entry point
  bool begins_fde = false;     ///< an FDE begins there whose first row is that of an entry: CFA = rsp + 8
  bool is_split_part = false;  ///< its symbol has ".cold": compilers jump there out of the middle of a function
  bool is_taken = false;       ///< data, or an instruction of another function, has its address
  bool is_inside = false;      ///< of a function: code that is reached from elsewhere
};

/// 1. A function starts where something says so. An address that is taken may be a label's as well: of a handler of
/// OCaml's, or of an interpreter's instruction.
constexpr bool starts_function(const Evidence& evidence) {
  return evidence.is_called || (!evidence.is_split_part && (evidence.is_symbol || evidence.begins_fde ||
                                                            (evidence.is_taken && !evidence.is_inside)));
}

/// Symbols of code that does not keep to System V: V8's builtins, which are entered by jumps, and remove arguments.
constexpr bool is_of_another_world(std::string_view symbol) {
  return symbol.starts_with("Builtins_");
}

/// 2. The function of the C library that the entry point of every program calls or jumps to (Linux Standard Base, core
/// specification): glibc's and musl's.
inline constexpr std::string_view called_first = "__libc_start_main";

/// 2. At a return SP is exactly as at the entry, and the slot there still has the entry's return address.
bool stack_pointer_is_as_at_entry(const State& state);
bool return_address_is_in_place(const State& state);
/// Whether both hold: what a return needs, and a jump to another function.
bool is_as_at_entry(const State& state);
/// A last jump to a function of another file may keep to another convention: Haskell's code ends so, and has its return
/// addresses elsewhere. `is_described`: CFI describes an entry there. `file_breaks_convention`: some function without
/// CFI does not keep to System V.
constexpr bool may_be_proved_by_import(bool is_described, bool file_breaks_convention) {
  return is_described || !file_breaks_convention;
}
/// Functions that change FP for good exist (OCaml's): what CFI says of FP in them is not judged, and their callers lose
/// it.
bool frame_pointer_is_callers(const State& state);

/// 3. Paths meet with the same SP, or with the same frame pointer that the CFA can be counted from: State::join.

/// 4. Calls keep rbx, rsp, rbp and r12 to r15 (AMD64 psABI, figure 3.4).
constexpr bool is_kept_over_calls(RegisterNumber reg) {
  return reg == rbx || reg == rsp || reg == rbp || (reg >= 12 && reg <= 15);
}

/// 5. What a direct callee is known to break breaks its caller's proof.
constexpr bool callee_may_be_trusted(const CalleeEffect& callee) {
  return callee.balances;
}

/// 6. No reached instruction begins inside another one. `marks`: of the bytes, as CodeMarks keeps them.
constexpr bool overlaps_none(std::uint8_t first_mark, std::uint8_t other_marks) {
  return (first_mark & 2U) == 0 && (other_marks & 1U) == 0;
}

/// 7. A jump through a table needs a bound, from a comparison on each path there.
constexpr bool is_bounded(const Value& table) {
  return table.count != 0;
}

/// 7. The comparison that bounds a table may lead out of the function: to its own cold part, or, where the compiler
/// knew that the jump is never taken and made no code for it, to whatever is there: GCC's __builtin_unreachable().
constexpr bool may_never_be_taken(Condition condition, bool leaves_own_code) {
  return leaves_own_code && (condition == Condition::Above || condition == Condition::AboveOrEqual);
}

/// 8. Control does not go on after a call of a function that does not return, by its name or by its code.
bool never_returns(std::string_view imported_name);
/// 8. It does not return, and says nothing of the function that calls it: -fstack-protector.
bool is_check(std::string_view imported_name);
/// 8. Compilers begin what follows such a call as they begin a function.
bool returns_twice(std::string_view imported_name);

/// 9. A store through SP or FP at a known distance overwrites what is there. Another one is assumed not to hit saved
/// registers and the return address, as compilers assume too.
bool overwrites_for_sure(const Operand& memory);

/// 9. What is loaded may be a variable that leads to another one, and that a callee changes: a std::vector's own
/// storage. Only SP never gets such a value, and no variable leads to the return address or above: there, code that
/// aligns the stack finds its frame again. `into`: the register that is loaded.
constexpr bool may_be_variable(const Value& loaded, RegisterNumber into) {
  if (!is_on_stack(loaded) || into == rsp) return false;
  return into == rbp || !loaded.is(Value::Kind::Cfa) || loaded.number < -8;
}

/// 10. Registers other than SP and FP never give the CFA of a row: readers know only SP, FP and RA of callers.

/// 11. SP never comes from memory that this function did not write, nor from an instruction that compilers do not use.
bool switches_stacks(const Instruction& instruction, const Value& new_stack_pointer);

/// 11. What a caller has in rbx or r12 to r15 is nothing to a function of System V, which may only save it. V8's
/// builtins find the heap there, and Haskell's code its stack. Such a function is none that its CFI would describe so.
bool takes_address_from_caller(const Instruction& instruction, const State& state);

/// 11. After some system calls the stack is another one, or a child's that overwrites its parent's: rt_sigreturn,
/// clone, vfork, clone3 (Linux's syscall_64.tbl). `number`: in rax.
constexpr bool keeps_stack(const Value& number) {
  return number.is(Value::Kind::Constant) && number.number != 15 && number.number != 56 && number.number != 58 &&
         number.number != 435;
}

/// 8. exit and exit_group (Linux's syscall_64.tbl) do not return. `number`: in rax.
constexpr bool ends_the_program(const Value& number) {
  return number.is(Value::Kind::Constant) && (number.number == 60 || number.number == 231);
}

/// 12. Landing pads are reached by no instruction. What is not reached is neither proved nor compared.
constexpr bool may_be_compared(bool is_reached, bool is_proved) {
  return is_reached && is_proved;
}

}  // namespace sframe_gen::rows::proof::conditions
