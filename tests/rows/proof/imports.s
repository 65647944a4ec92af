# Functions without CFI that end by a jump to a function of another file. NAME__REASON: the proof must refuse it for that
# reason; NAME__proved, its twin: prove it. Every function keeps to System V.

.include "undescribed.inc"

  .text
begin calls_them
  sub $8,%rsp
  call imported_tail__proved
  call shared_end__proved
  add $8,%rsp
  ret
end calls_them
# Only where a proved function calls it, the return address is known to be there.
imported_tail__proved:
  jmp elsewhere@plt
  .p2align 4
imported_tail__tail_not_proved:
  jmp elsewhere@plt
  .p2align 4
# What jumps to such a function is proved as little.
shared_end__proved:
  jmp imported_tail__proved
  .p2align 4
shared_end__tail_not_proved:
  jmp imported_tail__tail_not_proved
  .p2align 4
  .data
  .p2align 3
  .quad imported_tail__tail_not_proved, shared_end__tail_not_proved
