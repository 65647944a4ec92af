# Functions without CFI. NAME__REASON: the proof must refuse it for that reason, or never reach it; NAME__proved: prove it.
# None has a symbol that says it is a function but those of `begin`.

.macro begin name
  .globl "\name"
  .type "\name",@function
"\name":
.endm
.macro end name
  .size "\name", .-"\name"
  .p2align 4
.endm

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
begin takes_from_own_r13__proved
  push %r13
  mov %rdi,%r13
  mov 8(%r13),%rax
  pop %r13
  ret
end takes_from_own_r13__proved

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

# 7. A comparison bounds the bits that it compares, and memory until something is stored.
.macro bounded name:req, load, compare:req, between, index
begin \name
  push %rbx
  lea .Lentries_\name(%rip),%rdx
  \load
  \compare
  \between
  ja .Lend_\name
  \index
  movslq (%rdx,%rax,4),%rax
  add %rdx,%rax
  jmp *%rax
.Lcase_\name:
  inc %eax
.Lend_\name:
  pop %rbx
  ret
end \name
  .section .rodata
  .p2align 2
.Lentries_\name:
  .long .Lcase_\name-.Lentries_\name, .Lend_\name-.Lentries_\name, 0x70000000
  .text
.endm
bounded part__proved, compare="cmp $1,%dil", index="movzbl %dil,%eax"
bounded whole__proved, load="movzbl (%rdi),%eax", compare="cmp $1,%al"
bounded more_than_part__proved, load="mov (%rdi),%rax", compare="cmp $1,%al"
bounded high_byte__proved, load="mov (%rdi),%rax", compare="cmp $1,%ah", index="movzbl %al,%eax"
bounded byte_of_memory__proved, compare="cmpb $1,(%rdi)", index="movzbl (%rdi),%eax"
bounded more_than_byte__proved, compare="cmpb $1,(%rdi)", index="mov (%rdi),%eax"
bounded stored_between__proved, compare="cmpl $1,(%rdi)", between="mov %ecx,(%rsi)", index="mov (%rdi),%eax"

# 1. A direct call, a word of data that a relocation fills in, and an instruction elsewhere say that a function starts.
begin caller__proved
  call called__proved
  lea taken__proved(%rip),%rax
  mov $0x1000000,%eax
  ret
end caller__proved
called__proved:
  push %rbx
  pop %rbx
  ret
  .p2align 4
taken__proved:
  push %rbx
  pop %rbx
  ret
  .p2align 4
in_data__proved:
  push %rbx
  pop %rbx
  ret
  .p2align 4
nowhere__not_reached:
  push %rbx
  pop %rbx
  ret
  .p2align 4
# A number is an address in a program at fixed ones only.
  .section .fixed,"ax"
in_number__not_reached:
  push %rbx
  pop %rbx
  ret
  .text
# 6. Two functions, by words of data, one inside an instruction of the other: none is known to be right.
first_reading__overlapping_instructions:
  mov $0xc3909090,%eax
  ret
  .p2align 4
# Words of constants say nothing: that they hold an address is by chance.
in_constants__not_reached:
  push %rbx
  pop %rbx
  ret
  .p2align 4
  .section .rodata
  .quad 0x1000
  .text

# A function takes the address of its own label, as OCaml does of its handlers: without padding before it, it is none.
begin handler__proved
  push %rbx
  lea own_label__not_reached(%rip),%rax
  mov %rax,(%rdi)
  pop %rbx
  ret
own_label__not_reached:
  push %rbx
  pop %rbx
  ret
end handler__proved
# The next one's is an address of another function: padding lies between.
begin next__proved
  lea callback__proved(%rip),%rax
  ret
end next__proved
callback__proved:
  push %rbx
  pop %rbx
  ret
  .p2align 4

# 1. Labels of an interpreter, in a table: code with a frame jumps there.
begin interpreter__proved
  push %rbx
  test %edi,%edi
  je label__not_reached
  pop %rbx
  ret
label__not_reached:
  inc %eax
  pop %rbx
  ret
end interpreter__proved

# 2. An indirect jump proves what is called, and no label, aligned or not.
begin calls_dispatcher__proved
  sub $8,%rsp
  call dispatcher__proved
  add $8,%rsp
  ret
end calls_dispatcher__proved
  int3
dispatcher__proved:
  jmp *(%rdi)
  .p2align 4
aligned_dispatcher__no_return:
  jmp *(%rdi)
  .p2align 4
  nop
  ret
instruction__no_return:
  mov (%rdi),%rax
  jmp *%rax
  .p2align 4
  nop
jumps_to_instruction__tail_not_proved:
  jmp instruction__no_return
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

# 8. What follows a call that does not return is another function, whatever the linker has put there.
begin first_part__proved
  push %rbx
  test %edi,%edi
  jne first_cold__not_reached
  pop %rbx
  ret
end first_part__proved
begin second_part__proved
  push %rbx
  push %rbx
  test %edi,%edi
  jne second_cold__not_reached
  pop %rbx
  pop %rbx
  ret
end second_part__proved
  .section .text.unlikely,"ax"
first_cold__not_reached:
  call unknown_to_us@plt
second_cold__not_reached:
  pop %rbx
  pop %rbx
  ret

  .data
  .p2align 3
  .quad first_reading__overlapping_instructions, first_reading__overlapping_instructions+1
  .quad in_data__proved, label__not_reached, aligned_dispatcher__no_return, instruction__no_return
  .quad jumps_to_instruction__tail_not_proved
  .text
