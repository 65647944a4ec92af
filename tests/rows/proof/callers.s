# Functions without CFI in which a test asks for the caller, at the labels.

.include "undescribed.inc"

  .text
begin leaf
  mov (%rdi),%rax
leaf_body:
  test %rax,%rax
  je leaf_end
  mov 8(%rdi),%rax
leaf_end:
  xor %ecx,%ecx
  jmp *%rcx
end leaf

# Ways meet with the same depth, and with another one.
begin pushes
  push %rbx
pushes_one:
  push %rbp
  mov %rdi,%rbp
pushes_two:
  test %rdi,%rdi
  je pushes_meet
  push %rax
  pop %rcx
pushes_meet:
  mov %rbp,%rax
  test %rax,%rax
  je pushes_differ
  push %rax
pushes_differ:
  mov %rax,%rcx
  jmp pushes_differ
end pushes

# Calls may take arguments from the stack, but keep a frame pointer.
begin calls
  push %rbp
  mov %rsp,%rbp
  sub $32,%rsp
calls_before:
  call *%rax
calls_after:
  mov %rax,%rcx
  mov %rbp,%rsp
calls_restored:
  pop %rbp
calls_left:
  mov 8(%rcx),%rdx
  jmp *%rdx
end calls

# What comes back may have another depth.
begin comes_back
  mov (%rdi),%rax
comes_back_body:
  test %rax,%rax
  je 1f
  ret
1: push %rbx
  call *%rax
  jmp comes_back_body
end comes_back

# The computed jump with a frame may come back.
begin by_table
  mov (%rdi),%rax
by_table_body:
  cmp $3,%eax
  ja 1f
  sub $24,%rsp
  lea table(%rip),%rdx
  movslq (%rdx,%rax,4),%rax
  add %rdx,%rax
  jmp *%rax
1: ret
end by_table

begin by_object
  mov (%rdi),%rax
by_object_body:
  cmp $3,%eax
  ja 1f
  sub %rax,%rsp
  mov 8(%rdi),%rax
  jmp *%rax
1: ret
end by_object

# What follows a call that does not return is dead.
begin dead_code
  push %rbp
  mov %rsp,%rbp
  test %rdi,%rdi
  je 1f
  call *%rax
  int3
  mov %rbp,%rsp
  pop %rbp
  jmp dead_code_body
1: mov %rbp,%rsp
  pop %rbp
dead_code_body:
  mov (%rdi),%rax
  jmp *%rax
end dead_code

# A byte that is no instruction.
begin not_understood
  mov (%rdi),%rax
not_understood_body:
  test %rax,%rax
  ret
  .byte 0x06
end not_understood

begin overwrites
  mov (%rdi),%rax
overwrites_before:
  mov %rax,8(%rsp)
overwrites_argument:
  mov %rax,(%rsp)
overwrites_after:
  mov %rax,%rcx
  jmp *%rcx
end overwrites

# Ways to a return.
begin leaves
  push %rbp
  mov %rsp,%rbp
  call *%rax
  xor %eax,%eax
leaves_way:
  mov -8(%rbp),%rbx
leaves_leave:
  leave
leaves_ret:
  ret $16
end leaves
begin pops
  call *%rax
  add $24,%rsp
pops_way:
  pop %rbx
  pop %rbp
pops_ret:
  ret
pops_none:
  pop %rbx
  push %rcx
  ret
pops_stores:
  mov %rax,(%rdi)
  ret
pops_calls:
  call *%rax
  ret
pops_exchanges:
  pop %rbp
  leave
  ret
end pops

  .section .rodata
table:
  .long by_table_body-table
