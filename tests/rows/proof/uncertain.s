# Places where a function that is proved without CFI has no row. NAME__none is such a place; NAME__row, its twin, has one.

.include "undescribed.inc"

  .text
# 2. The return address is not in its slot, or so far below SP that a signal handler may overwrite it.
begin borrows
  pop %rax
  push %rdi
borrowed__none:
  pop %rcx
  push %rax
borrowed__row:
  ret
end borrows
begin pops_all
  add $128,%rsp
popped__row:
  add $8,%rsp
popped__none:
  sub $136,%rsp
  ret
end pops_all

# 3. Two functions share code, and agree on a part of it only: where the caller's FP is.
begin saves_frame_pointer
  push %rbp
  xor %ebp,%ebp
  jmp shared__none
end saves_frame_pointer
begin saves_another
  push %rbp
  jmp shared__none
end saves_another
shared__none:
  mov (%rsp),%rbp
shared__row:
  pop %rcx
  ret
  .p2align 4

# 2. A function that is called, and entered with another FP by a jump, and one that it ends by jumping to.
.macro enters stem, place, reg
begin enters_\stem
  mov %rdi,\reg
  jmp \stem
end enters_\stem
begin \stem
entered__\place:
  test %edi,%edi
  jne after_\stem
  ret
end \stem
begin after_\stem
onward__\place:
  inc %eax
  ret
end after_\stem
begin calls_\stem
  push %rbx
  call \stem
  pop %rbx
  ret
end calls_\stem
.endm
  enters with_another, none, %rbp
  enters with_its_own, row, %rax

# 3. A jump into code with CFI must agree with that.
  .cfi_startproc
  .cfi_def_cfa_offset 16
part_with_cfi:
  ud2
  .cfi_endproc
  .p2align 4
begin agrees
into_cfi__row:
  push %rbx
  test %edi,%edi
  je part_with_cfi
  pop %rbx
  ret
end agrees
begin disagrees
into_cfi__none:
  test %edi,%edi
  je part_with_cfi
  ret
end disagrees

# 10. Only r10 leads to the CFA.
begin realigns
  lea 8(%rsp),%r10
other_register__row:
  and $-32,%rsp
other_register__none:
  push -8(%r10)
  lea -8(%r10),%rsp
  ret
end realigns

# 3. A function whose address alone is taken, and that is refused, comes with a frame to the end of another one.
.macro shares_end place, depth
comes_to_\place:
  sub $\depth,%rsp
  mov (%rdi),%r8
  jmp shared_end__\place
  .p2align 4
begin owns_\place
  test %edi,%edi
  jne shared_end__\place
  ret
shared_end__\place:
  inc %eax
  jmp *%r8
end owns_\place
.endm
  shares_end none, 24
  shares_end row, 0
  .data
  .p2align 3
  .quad comes_to_none, comes_to_row, begins__none
  .text

# 1. A function may begin where a proved one ends by a jump. Where only a refused one does, nothing says that it is called.
.macro jumps_on place, end:vararg
begin jumps_to_\place
  .cfi_startproc
  test %edi,%edi
  jne entered_by_jump__\place
  \end
  .cfi_endproc
end jumps_to_\place
entered_by_jump__\place:
  inc %eax
  ret
  .p2align 4
.endm
  jumps_on none, .byte 6
  jumps_on row, ret

# 8. A call may be one that does not return. What follows may be another function then, of which nothing says that it is one
# but where it is, its address, or an endbr64. It has a row only if it leads to where the function returns.
.macro before_call
  push %rbx
  push %rbx
  test %edi,%edi
  jne 1f
  pop %rbx
  pop %rbx
  ret
1:
.endm
.macro never_ends
1:call elsewhere@plt
  jmp 1b
.endm
begin before_worker
  before_call
  call dies@plt
  .p2align 4
worker__none:
  push %rbx
  never_ends
end before_worker
begin takes_worker
  lea worker__none(%rip),%rax
  ret
end takes_worker
begin no_worker
  before_call
  call elsewhere@plt
worker__row:
  pop %rbx
  pop %rbx
  ret
end no_worker
# Postgres has such calls of a function that returns for other arguments.
begin may_return
  test %edi,%edi
  je 1f
  ret
1:call abort@plt
end may_return
begin before_begin
  before_call
  call may_return
begins__none:
  endbr64
  push %rbp
  mov %rsp,%rbp
  never_ends
end before_begin
begin no_begin
  before_call
  call setjmp@plt
  endbr64
begins__row:
  pop %rbx
  pop %rbx
  ret
end no_begin
begin before_part
  before_call
  call may_return
follows__none:
  mov %rax,%rdi
  call abort@plt
end before_part
begin no_part
  before_call
  call may_return
follows__row:
  mov %rax,%rdi
  jmp 1f
1:pop %rbx
  pop %rbx
  ret
end no_part
# Where such a path meets one without a call, and both know FP in different places, the call does not return.
begin saves_late
  sub $24,%rsp
  test %edi,%edi
  je meets__row
  js 1f
  mov %rbp,8(%rsp)
  xor %ebp,%ebp
  call dies@plt
meets__row:
  mov %rbp,(%rsp)
  mov %rdi,%rbp
  call abort@plt
1:add $24,%rsp
  ret
end saves_late
begin saves_on_no_path
  sub $24,%rsp
  test %edi,%edi
  je meets__none
  js 1f
  mov %rbp,8(%rsp)
  xor %ebp,%ebp
meets__none:
  mov %rbp,(%rsp)
  mov %rdi,%rbp
  call abort@plt
1:add $24,%rsp
  ret
end saves_on_no_path

# The row of a call holds in the callee, whose frame begins below SP.
begin pops_return_address
  test %edi,%edi
  jz 1f
  ret
1:pop %rdi
return_address_at_call__none:
  call dies@plt
end pops_return_address
begin keeps_return_address
  test %edi,%edi
  jz 1f
  ret
1:mov (%rsp),%rdi
return_address_at_call__row:
  call dies@plt
end keeps_return_address
.macro saves_at offset, place
begin saves_\place
  sub $8,%rsp
  mov %rbp,\offset(%rsp)
  mov %rdi,%rbp
  test %edi,%edi
  jz frame_pointer_at_call__\place
  mov \offset(%rsp),%rbp
  add $8,%rsp
  ret
frame_pointer_at_call__\place:
  call dies@plt
end saves_\place
.endm
  saves_at -64, none
  saves_at 0, row

# A part that was split off may be empty, and then another function's follows. It has a row only if it leads out.
.macro has_cold place, end:vararg
begin has_cold_\place
  test %edi,%edi
  jne cold_\place
back_\place:
  ret
end has_cold_\place
  .section .text.unlikely,"ax"
cold_\place:
  nop
in_cold__\place:
  mov %edi,%eax
  \end
  .text
.endm
  has_cold none, call abort@plt
  has_cold row, jmp back_row

# What a function has left below SP is nothing to code that it jumps to as at its entry: others may call that.
.macro leaves place, save:vararg
begin leaves_\place
  sub $24,%rsp
  mov %rbp,8(%rsp)
  add $24,%rsp
  jmp jumped_to_\place
end leaves_\place
begin between_\place
  ret
end between_\place
jumped_to_\place:
  sub $24,%rsp
  \save
  mov %rdi,%rbp
stale__\place:
  nop
  mov 8(%rsp),%rbp
  add $24,%rsp
  ret
  .p2align 4
.endm
  leaves none, nop
  leaves row, mov %rbp,8(%rsp)

# The same where the same function opens a frame again.
.macro opens_again place, save:vararg
begin opens_again_\place
  push %rbp
  pop %rbp
  sub $24,%rsp
  \save
  mov %rdi,%rbp
again__\place:
  nop
  mov 16(%rsp),%rbp
  add $24,%rsp
  ret
end opens_again_\place
.endm
  opens_again none, nop
  opens_again row, mov %rbp,16(%rsp)

# 8. A callee whose every `ret` comes after calls that may not return is not known to return itself.
begin calls_handler
  sub $8,%rsp
  call *%rdi
  add $8,%rsp
  ret
end calls_handler
begin is_sure_to_return
  lea 1(%rdi),%eax
  ret
end is_sure_to_return
.macro ends_after callee, place
begin ends_after_\callee
  before_call
  call \callee
after_handler__\place:
  mov %rax,%rdi
  call abort@plt
end ends_after_\callee
.endm
  ends_after calls_handler, none
  ends_after is_sure_to_return, row

# 2. A label of an interpreter, which data names, may end with such a call. What follows is a function, and its `ret` says
# nothing of the label, unless the frame that was open at the call is closed.
.macro interprets place, open, close
begin interprets_\place
  push %rbx
  jmp *%rdi
last_label__\place:
  \open
  call dies@plt
  \close
  ret
end interprets_\place
  .data
  .quad last_label__\place
  .text
.endm
  interprets none, nop, nop
  interprets row, "sub $8,%rsp", "add $8,%rsp"

# A jump with a frame, or code without a jump, comes to where data says that something begins. It may be that this code is
# never reached, and that the next function is there.
.macro leads_out
  pop %rbx
  pop %rbx
  ret
.endm
.macro comes_to_taken how, place, end, jump:vararg
begin comes_by_\how\()_\place
  push %rbx
  push %rbx
  \jump
  pop %rbx
  pop %rbx
  ret
1:mov $1,%eax
by_\how\()__\place:
  mov %rax,%rdi
  \end
end comes_by_\how\()_\place
  .data
  .quad by_\how\()__\place
  .text
.endm
  comes_to_taken jump, none, never_ends, je by_jump__none
  comes_to_taken jump, row, leads_out, je by_jump__row
  comes_to_taken no_jump, none, never_ends, je 1f
  comes_to_taken no_jump, row, leads_out, je 1f

# 3. A refused function may go on after a call, to where another one comes with a frame of its own. Where that one ends is
# known when it is followed again, as its callee does not return.
begin never_returns
  push %rbx
  call abort@plt
end never_returns
.macro comes_between place, callee
begin comes_between_\place
  push %rbx
  push %rbx
  test %edi,%edi
  je in_refused__\place
  js 1f
back_between_\place:
  pop %rbx
  pop %rbx
  ret
1:call never_returns
end comes_between_\place
begin refused_\place
  push %rbx
  test %esi,%esi
  je 1f
  call \callee
in_refused__\place:
  inc %eax
  jmp back_between_\place
1:.byte 6
end refused_\place
.endm
  comes_between none, dies@plt
  comes_between row, abort@plt

# The same outside of the refused function, where the other one has a part that was split off.
.macro comes_to_part place, callee
begin has_part_\place
  push %rbx
  push %rbx
  test %edi,%edi
  je in_part__\place
back_from_part_\place:
  pop %rbx
  pop %rbx
  ret
end has_part_\place
begin refused_before_\place
  push %rbx
  test %esi,%esi
  je before_part_\place
  .byte 6
end refused_before_\place
  .section .text.unlikely,"ax"
before_part_\place:
  call \callee
in_part__\place:
  inc %eax
  jmp back_from_part_\place
  .text
.endm
  comes_to_part none, dies@plt
  comes_to_part row, abort@plt

# 9. What is loaded into FP may be a variable: the address of another one, or of an argument, which a callee has changed. Only
# SP gives the CFA then, and where that is not known, there is no row.
.macro loads_variable name, place, offset, set:vararg
begin loads_\name\()_\place
  push %rbp
  push %rbx
  sub $40,%rsp
  lea \offset(%rsp),%rax
  mov %rax,8(%rsp)
  lea 8(%rsp),%rdi
  call elsewhere@plt
  mov 8(%rsp),%rax
  \set
  mov %rsp,%rbx
  sub %rdx,%rsp
\name\()__\place:
  nop
  mov %rbx,%rsp
  add $40,%rsp
  pop %rbx
  pop %rbp
  ret
end loads_\name\()_\place
.endm
  loads_variable variable, none, 16, mov 8(%rsp),%rbp
  loads_variable variable, row, 16, lea 16(%rsp),%rbp
  loads_variable argument, none, 64, mov %rax,%rbp
  loads_variable argument, row, 64, lea 16(%rsp),%rbp

# A trap after a return is no padding: code that nothing is known of may jump there, with a frame.
.macro traps place, end:vararg
begin traps_\place
  push %rbx
  test %edi,%edi
  jne 1f
  pop %rbx
  \end
trap__\place:
  ud2
1:pop %rbx
  ret
end traps_\place
.endm
  traps none, ret
  traps row, call abort@plt

# 7. An entry of a jump table leads to the next function where a `switch` has a hole and no default. What only the table
# leads to has a row if it leads out.
.macro jumps_by_table table
  lea \table(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
.endm
.macro table_of name, first, second
  .section .rodata
  .p2align 2
\name:
  .long \first-\name, \second-\name, 0x70000000
  .text
.endm
.macro has_hole place, end:vararg
begin has_hole_\place
  push %rbx
  jumps_by_table holes_\place
out_\place:
  pop %rbx
  ret
hole__\place:
  push %rbp
  mov %rdi,%rbp
  pop %rbp
  \end
end has_hole_\place
  table_of holes_\place, out_\place, hole__\place
.endm
  has_hole none, never_ends
  has_hole row, jmp out_row

# Where such an entry leads to what cannot be, it is none, and the function is proved without it.
begin has_bad_entry
  push %rbx
  jumps_by_table bad_entries
bad_entry__row:
  pop %rbx
  ret
bad_entry__none:
  push %rbp
  mov %rdi,%rbp
  pop %rbp
  ret
end has_bad_entry
  table_of bad_entries, bad_entry__row, bad_entry__none
