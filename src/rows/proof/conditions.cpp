#include "rows/proof/conditions.hpp"

#include <algorithm>
#include <array>

namespace sframe_gen::rows::proof::conditions {

bool stack_pointer_is_as_at_entry(const State& state) {
  return state[rsp] == cfa_plus(-8);
}

bool return_address_is_in_place(const State& state) {
  return state.load(cfa_plus(-8), 64) == return_address;
}

bool is_as_at_entry(const State& state) {
  return stack_pointer_is_as_at_entry(state) && return_address_is_in_place(state);
}

bool frame_pointer_is_callers(const State& state) {
  return is_callers_frame_pointer(state[rbp]);
}

bool never_returns(std::string_view imported_name) {
  // Declared noreturn by glibc, GCC's unwinder, and libstdc++.
  static constexpr auto names =
      std::to_array<std::string_view>({"abort",
                                       "exit",
                                       "_exit",
                                       "_Exit",
                                       "quick_exit",
                                       "__assert_fail",
                                       "__assert_perror_fail",
                                       "__assert",
                                       "__stack_chk_fail",
                                       "__chk_fail",
                                       "__fortify_fail",
                                       "longjmp",
                                       "_longjmp",
                                       "siglongjmp",
                                       "__longjmp_chk",
                                       "pthread_exit",
                                       "err",
                                       "errx",
                                       "verr",
                                       "verrx",
                                       "__cxa_throw",
                                       "__cxa_rethrow",
                                       "__cxa_bad_cast",
                                       "__cxa_bad_typeid",
                                       "__cxa_throw_bad_array_new_length",
                                       "__cxa_throw_bad_array_length",
                                       "__cxa_call_unexpected",
                                       "__cxa_call_terminate",
                                       "__cxa_pure_virtual",
                                       "__cxa_deleted_virtual",
                                       "_Unwind_Resume",
                                       "__clang_call_terminate",
                                       "_ZSt9terminatev",
                                       "_ZSt10unexpectedv",
                                       "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
                                       "__libc_start_main",
                                       "__libc_fatal",
                                       "thrd_exit",
                                       "g_assertion_message_expr",
                                       "g_assertion_message",
                                       "g_assertion_message_cmpnum",
                                       "obstack_alloc_failed_handler",
                                       "_ZSt21__glibcxx_assert_failPKciS0_S0_",
                                       "__glibcxx_assert_fail"});
  return std::ranges::find(names, imported_name) != names.end() || imported_name.starts_with("_ZSt16__throw_") ||
         (imported_name.starts_with("_ZSt") && imported_name.find("__throw_") != std::string_view::npos);
}

bool is_check(std::string_view imported_name) {
  return imported_name == "__stack_chk_fail";
}

bool returns_twice(std::string_view imported_name) {
  // GCC's special_function_p(); the rest is declared so by glibc.
  static constexpr auto names = std::to_array<std::string_view>(
      {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "savectx", "vfork", "getcontext"});
  return std::ranges::find(names, imported_name) != names.end();
}

bool overwrites_for_sure(const Operand& memory) {
  return (memory.base == rsp || memory.base == rbp) && memory.index == no_register && !memory.other_segment;
}

bool takes_address_from_caller(const Instruction& instruction, const State& state) {
  const auto is_callers = [&](RegisterNumber reg) {
    return (reg == rbx || (reg >= 12 && reg < register_count)) && state[reg] == entry_of(reg);
  };
  return std::ranges::any_of(instruction.operands, [&](const Operand& operand) {
    return operand.kind == Operand::Kind::Memory && (is_callers(operand.base) || is_callers(operand.index));
  });
}

bool switches_stacks(const Instruction& instruction, const Value& new_stack_pointer) {
  if (is_on_stack(new_stack_pointer)) return false;
  switch (instruction.operation) {
    case Operation::Add:
    case Operation::Subtract:
    case Operation::And:
    case Operation::LoadAddress:
      return false;
    case Operation::Move:
      return instruction.operands[1].kind != Operand::Kind::Register;
    default:
      return true;
  }
}

}  // namespace sframe_gen::rows::proof::conditions
