#include "own_walks.hpp"

#include <cstring>

#include "sframe_gen/unwind.h"

namespace sframe_gen::unwind {
namespace {

bool read_stack(void* context, std::uint64_t address, void* bytes) {
  const auto& stack = *static_cast<const Stack*>(context);
  if (address < stack.low || address > stack.high - 8) return false;
  std::memcpy(bytes, reinterpret_cast<const void*>(address), 8);
  return true;
}

}  // namespace

Stop walk(const Tables& tables, Registers registers, const Stack& stack, Pcs& pcs) {
  Stack readable = stack;
  static RowSlot rows[256];
  Walked walked;
  walked.modules = tables.modules();
  walked.read = read_stack;
  walked.context = &readable;
  walked.rows = rows;
  Stop stop{};
  pcs.resize(Unwinder(walked).walk(registers, pcs.room(), stop));
  return stop;
}

Stop walk_own(const void* ucontext, Pcs& pcs) {
  int stop = 0;
  const auto room = pcs.room();
  const int count = sframe_unwind_backtrace_stop(reinterpret_cast<void**>(room.data()), static_cast<int>(room.size()),
                                                 ucontext, &stop);
  pcs.resize(static_cast<std::size_t>(count));
  return static_cast<Stop>(stop);
}

}  // namespace sframe_gen::unwind
