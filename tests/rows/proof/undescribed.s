# Functions without CFI. NAME__REASON: the proof must refuse it for that reason, or never reach it; NAME__proved, its twin:
# prove it. NAME__label: a place in a function, which must not be taken for one. Only `begin` makes symbols that say they are
# functions.

.include "undescribed.inc"

  .text

# 11. V8's builtins find the heap by registers that a function of System V may only save.
begin takes_from_r13__other_convention
  mov 8(%r13),%rax
  ret
end takes_from_r13__other_convention
begin takes_from_r14__other_convention
  test %edi,%edi
  je 1f
  push %rbx
  mov (%rax,%r14),%ebx
  pop %rbx
1:ret
end takes_from_r14__other_convention
begin takes_from_r12_and_changes_rbp__frame_pointer_lost
  mov (%r12),%rbp
  ret
end takes_from_r12_and_changes_rbp__frame_pointer_lost
begin its_caller__frame_pointer_lost
  call takes_from_r12_and_changes_rbp__frame_pointer_lost
  ret
end its_caller__frame_pointer_lost
begin takes_from_r14__proved
  push %r14
  mov %rdi,%r14
  mov (%rax,%r14),%eax
  pop %r14
  ret
end takes_from_r14__proved
begin takes_from_r12_and_changes_rbp__proved
  mov (%rdi),%rax
  ret
end takes_from_r12_and_changes_rbp__proved
begin its_caller__proved
  call takes_from_r12_and_changes_rbp__proved
  ret
end its_caller__proved
begin takes_from_r13__proved
  push %r13
  mov %rdi,%r13
  mov 8(%r13),%rax
  pop %r13
  ret
end takes_from_r13__proved

# 7. Tables without a bound are read by their contents, if that is not forbidden.
begin contents__proved
  push %rbx
  lea entries(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
0:inc %eax
1:pop %rbx
  ret
end contents__proved
  .section .rodata
  .p2align 2
entries:
  .long 0b-entries, 1b-entries, 0x70000000
  .text
begin contents__jump_table
  push %rbx
  lea no_entries(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:pop %rbx
  ret
end contents__jump_table
  .section .rodata
  .p2align 2
no_entries:
  .long 0x70000000, 1b-no_entries
  .text
# A table ends where another one begins, whose address is taken. Its entries lead to code of another depth.
.macro two_tables last:req
  push %rbx
  mov %edi,%ebx
  lea 5f(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
0:nop
1:push %rbx
  lea 6f(%rip),%rdx
  movslq (%rdx,%rbx,4),%rax
  add %rdx,%rax
  jmp *%rax
  .skip 12, 0x90
2:nop
3:pop %rbx
  pop %rbx
  ret
  .section .rodata
  .p2align 2
5:.long 0b-5b, 1b-5b, \last-5b
6:.long 2b-6b, 3b-6b, 0x70000000
  .text
.endm
begin two_tables__proved
  two_tables 0b
end two_tables__proved
begin two_tables__conflicting_paths
  two_tables 2b
end two_tables__conflicting_paths
# What such an entry leads to is code: else the table was read too far, and nothing of it is known.
.macro may_be_too_far last:vararg
  push %rbx
  lea 5f(%rip),%rdx
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:pop %rbx
  ret
2:push %rbx
  \last
  .section .rodata
  .p2align 2
5:.long 1b-5b, 2b-5b, 0x70000000
  .text
.endm
begin too_far__undecodable
  may_be_too_far .byte 6
end too_far__undecodable
begin too_far__proved
  may_be_too_far ret
end too_far__proved

# 1. A direct call, a word of data that a relocation fills in, and an instruction elsewhere say that a function starts.
begin caller
  call called__proved
  lea number__proved(%rip),%rax
  mov $0x1000000,%eax
  ret
end caller
.macro anonymous name:req
\name:
  push %rbx
  pop %rbx
  ret
  .p2align 4
.endm
  anonymous called__proved
  anonymous called__not_reached
# A number is an address in a program at fixed ones only.
  anonymous number__proved
  .section .fixed,"ax"
  anonymous number__not_reached
# Words of constants say nothing: that they hold an address is by chance.
  anonymous word__not_reached
  .section .rodata
  .p2align 3
  .quad 0x1000010
  .text
  anonymous word__proved
# 6. Two functions, by words of data, one inside an instruction of the other: none is known to be right.
reading__overlapping_instructions:
  mov $0xc3909090,%eax
  ret
  .p2align 4
reading__proved:
  mov $0xc3909090,%eax
  ret
  .p2align 4

# A function takes the address of its own label, as OCaml does of its handlers: without padding before it, it is none.
begin handler
  push %rbx
  lea own__not_reached(%rip),%rax
  mov %rax,(%rdi)
  pop %rbx
  ret
own__not_reached:
  push %rbx
  pop %rbx
  ret
end handler
# The next one's is an address of another function: padding lies between.
begin next
  lea own__proved(%rip),%rax
  ret
end next
  anonymous own__proved

# 1. Labels of an interpreter, in a table: code with a frame jumps there, or comes there. `late`: it is read later than the
# label was taken for a start.
.macro interpreter name:req, label:req
begin \name
  push %rbx
  test %edi,%edi
  je \label
  pop %rbx
  ret
\label:
  inc %eax
  pop %rbx
  ret
end \name
.endm
  interpreter interpreter, jump__not_reached
  anonymous jump__proved
  interpreter late_interpreter, late_jump__label
# The same of code that data has the address of, too, and that is reached by a function which is read before.
begin entered
  push %rbx
  test %edi,%edi
  jne 1f
  pop %rbx
  ret
1:pop %rbx
inside__not_reached:
  xor %eax,%eax
  ret
end entered
  anonymous inside__proved

# The same of places that data has the address of, and which would seem to be functions, as they end by a jump to one. The
# function that jumps there is refused: nothing says that they are reached.
begin jumps_out
  push %rbx
  test %edi,%edi
  je taken__not_reached
  pop %rbx
  ret
taken__not_reached:
  jmp called__proved
end jumps_out
taken__proved:
  jmp called__proved
  .p2align 4
jumps_far:
  push %rbx
  test %edi,%edi
  je far__not_reached
  pop %rbx
  ret
  .p2align 4
begin between
  ret
end between
far__not_reached:
  jmp called__proved
  .p2align 4
far__proved:
  jmp called__proved
  .p2align 4
# A label that was taken for a start is proved no more, also when it is known later that its callee is not proved.
begin ends_far
  jmp ends_later
end ends_far
begin ends_later
  push %rax
  jmp *%rdi
end ends_later
.macro calls_far name:req
  .p2align 4
\name:
  push %rbx
  call ends_far
  pop %rbx
  jmp called__proved
.endm
  calls_far late__flows_into_function
  calls_far late__proved
  .p2align 4
jumps_late:
  push %rbx
  test %edi,%edi
  je late__flows_into_function
  jmp *%rdi
  .p2align 4
# Only a function that is found later takes their addresses.
first_taker:
  lea second_taker(%rip),%rax
  lea jumps_late(%rip),%rcx
  ret
  .p2align 4
second_taker:
  lea far__not_reached(%rip),%rax
  lea far__proved(%rip),%rax
  ret
  .p2align 4
# 2. An indirect jump proves what is called, and no label, aligned or not.
begin calls_dispatchers
  sub $8,%rsp
  call dispatcher__proved
  call instruction__proved
  add $8,%rsp
  ret
end calls_dispatchers
  int3
dispatcher__proved:
  jmp *(%rdi)
  .p2align 4
dispatcher__no_return:
  jmp *(%rdi)
  .p2align 4
  nop
  ret
instruction__no_return:
  mov (%rdi),%rax
  jmp *%rax
  .p2align 4
instruction__proved:
  mov (%rdi),%rax
  jmp *%rax
  .p2align 4
jump_to_instruction__tail_not_proved:
  jmp instruction__no_return
  .p2align 4
jump_to_instruction__proved:
  jmp instruction__proved
  .p2align 4

# 4. FP is the caller's again at a return. Haskell's code, which has a stack of its own in rbp, does not return by rsp.
begin frame_pointer__proved
  push %rbp
  add $-16,%rbp
  pop %rbp
  ret
end frame_pointer__proved
begin frame_pointer__frame_pointer_lost
  add $-16,%rbp
  ret
end frame_pointer__frame_pointer_lost

# 5. A function that loses the caller's FP does so, whether it is proved or not.
begin forgets__indirect_jump
  mov $1,%ebp
  push %rbx
  jmp *%rdi
end forgets__indirect_jump
begin forgets__proved
  push %rbp
  mov $1,%ebp
  pop %rbp
  ret
end forgets__proved
begin keeps_but_is_refused
  push %rbp
  mov $1,%ebp
  jmp *%rdi
end keeps_but_is_refused
begin calls_forgetful__frame_pointer_lost
  call forgets__indirect_jump
  ret
end calls_forgetful__frame_pointer_lost
begin calls_forgetful__proved
  call keeps_but_is_refused
  ret
end calls_forgetful__proved

# 11. After rt_sigreturn the stack is another one.
begin system_call__proved
  mov $39,%eax
  syscall
  ret
end system_call__proved
begin system_call__other_stack
  mov $15,%rax
  syscall
  ret
end system_call__other_stack

# 3. Functions that share a part, whatever the linker has put there, come to it with the same stack pointer.
.macro shares name:req, register:req, part:req
begin \name
  push %rbx
  .ifc \register,two
  push %rbx
  .endif
  test %edi,%edi
  jne \part
  .ifc \register,two
  pop %rbx
  .endif
  pop %rbx
  ret
end \name
.endm
  shares one_to_part, one, same_part__label
  shares part__proved, one, same_part__label
  shares one_to_other_part, one, other_part__label
  shares part__conflicting_paths, two, other_part__label
  .section .text.unlikely,"ax"
same_part__label:
  inc %eax
  pop %rbx
  ret
  .p2align 4
  int3
other_part__label:
  inc %eax
  pop %rbx
  ret
  .p2align 4
  .text

# 8. What follows a call that does not return is another function's part, whatever the linker has put there.
  shares after_call__proved, one, first_cold__label
  shares second, two, second_cold__label
  .section .text.unlikely,"ax"
first_cold__label:
  call unknown_to_us@plt
second_cold__label:
  pop %rbx
  pop %rbx
  ret
  .text
  shares third, one, third_cold__label
  shares after_call__return_not_at_entry, two, fourth_cold__label
  .section .text.unlikely,"ax"
third_cold__label:
  call unknown_to_us@plt
  pop %rbx
  ret
fourth_cold__label:
  pop %rbx
  ret
  .text
# Nor does that part say anything of where it leads on to.
  shares owns_part, two, owned_cold__label
  shares before_part__proved, one, before_owned__label
  shares owns_other_part, two, other_owned__label
  shares before_part__conflicting_paths, one, before_other__label
  .section .text.unlikely,"ax"
before_owned__label:
  call unknown_to_us@plt
owned_cold__label:
  inc %eax
  jmp owned_end__label
before_other__label:
  call unknown_to_us@plt
  jmp other_end__label
other_owned__label:
  inc %eax
  jmp other_end__label
owned_end__label:
  pop %rbx
  pop %rbx
  ret
  int3
other_end__label:
  pop %rbx
  pop %rbx
  ret
  .text

# 11. V8's builtins are entered by jumps.
begin Builtins_Call__not_reached
  push %rbx
  pop %rbx
  ret
end Builtins_Call__not_reached
begin builtins_Call__proved
  push %rbx
  pop %rbx
  ret
end builtins_Call__proved
  .data
  .p2align 3
  .quad reading__overlapping_instructions, reading__overlapping_instructions+1, reading__proved
  .quad word__proved, dispatcher__no_return, instruction__no_return
  .quad jump__not_reached, jump__proved, late_jump__label
  .quad taken__proved, taken__not_reached, jumps_far, first_taker, late__proved, late__flows_into_function
  .quad inside__not_reached, inside__proved
  .quad jump_to_instruction__tail_not_proved, jump_to_instruction__proved
  .text
