# Each function twice: NAME__described has CFI, NAME__hidden has none, and the same instructions. NAME__refused has
# none, and gets no rows.

.macro cfa_offset bytes
  .if described
    .cfi_def_cfa_offset \bytes
  .endif
.endm
.macro cfa register:req, bytes:req
  .if described
    .cfi_def_cfa \register, \bytes
  .endif
.endm
.macro saved register:req, bytes:req
  .if described
    .cfi_offset \register, \bytes
  .endif
.endm
.macro restored register:req
  .if described
    .cfi_restore \register
  .endif
.endm
.macro remember
  .if described
    .cfi_remember_state
  .endif
.endm
.macro as_remembered
  .if described
    .cfi_restore_state
  .endif
.endm

.macro function name:req, body:req
  .globl "\name"
  .type "\name",@function
"\name":
  .if described
    .cfi_startproc
  .endif
  \body
  .if described
    .cfi_endproc
  .endif
  .size "\name", .-"\name"
  .p2align 4
.endm
.macro both name:req
  .set described, 1
  function \name\()__described, \name
  .set described, 0
  function \name\()__hidden, \name
.endm

.macro leaf
  lea 1(%rdi),%eax
  ret
.endm
.macro pushes
  push %rbx
  cfa_offset 16
  sub $24,%rsp
  cfa_offset 40
  mov %edi,%ebx
  add $24,%rsp
  cfa_offset 16
  pop %rbx
  cfa_offset 8
  ret
.endm
.macro frame
  push %rbp
  cfa_offset 16
  mov %rsp,%rbp
  saved %rbp, -16
  cfa %rbp, 16
  and $-64,%rsp
  sub $64,%rsp
  mov %rdi,(%rsp)
  leave
  cfa %rsp, 8
  restored %rbp
  ret
.endm
# A callee that is not known may remove its argument: SP is known by the frame pointer alone.
.macro pointer
  push %rbp
  cfa_offset 16
  mov %rsp,%rbp
  saved %rbp, -16
  cfa %rbp, 16
  push %rdi
  call *%rdx
  mov %eax,%edx
  leave
  cfa %rsp, 8
  restored %rbp
  ret
.endm
# What is stored of rbp is a variable that a pointer leads to.
.macro spill
  sub $24,%rsp
  cfa_offset 32
  mov %rbp,8(%rsp)
  lea 8(%rsp),%rdi
  call *%rsi
  mov 8(%rsp),%rax
  add $24,%rsp
  cfa_offset 8
  ret
.endm
# No path is followed after a call that may be setjmp(): it comes back with another rbp, which its slot has all the time.
.macro twice
  push %rbp
  cfa_offset 16
  saved %rbp, -16
  sub $16,%rsp
  cfa_offset 32
  test %edi,%edi
  je 1f
  call *%rsi
  endbr64
  xor %ebp,%ebp
1:xor %eax,%eax
  add $16,%rsp
  cfa_offset 16
  pop %rbp
  cfa_offset 8
  restored %rbp
  ret
.endm
# The path that the compiler has put last is as deep as the middle.
.macro branches
  sub $8,%rsp
  cfa_offset 16
  test %edi,%edi
  je 1f
  remember
  add $8,%rsp
  cfa_offset 8
  ret
  .p2align 4
  as_remembered
1:xor %eax,%eax
  add $8,%rsp
  cfa_offset 8
  ret
.endm

  .text
  both leaf
  both pushes
  both frame
  both branches
  both pointer
  both spill
  both twice

  .set described, 0
# A refused function goes on in code of a proved one, with another depth or with the same.
.macro deeper
  push %rbx
  push %rbx
  test %edi,%edi
  je shared_deeper
  .byte 6
.endm
  function deeper__refused, deeper
.macro user_of_deeper
  push %rbx
shared_deeper:
  inc %eax
  pop %rbx
  ret
.endm
  function shared_with_deeper__part, user_of_deeper
.macro as_deep
  push %rbx
  test %edi,%edi
  je shared_as_deep
  .byte 6
.endm
  function as_deep__refused, as_deep
.macro user_of_as_deep
  push %rbx
shared_as_deep:
  inc %eax
  pop %rbx
  ret
.endm
  function shared_with_as_deep__hidden, user_of_as_deep
# Its CFA counts from r10, then from memory.
.macro realigned
  lea 8(%rsp),%r10
  and $-32,%rsp
  push -8(%r10)
  push %rbp
  mov %rsp,%rbp
  push %r10
  mov -8(%rbp),%r10
  leave
  lea -8(%r10),%rsp
  ret
.endm
  function realigned__part, realigned
.macro unknown_target
  push %rbx
  jmp *%rdi
.endm
  function unknown_target__refused, unknown_target
.macro endless
1:jmp 1b
.endm
  function endless__refused, endless
# Its default may be one that cannot happen: then the code there is another function's.
.macro ends_the_program
  nop
  ud2
.endm
  function another.cold, ends_the_program
.macro unlikely_default
  push %rbx
  cmp $4,%edi
  ja another.cold
  pop %rbx
  ret
.endm
  function unlikely_default__part, unlikely_default
