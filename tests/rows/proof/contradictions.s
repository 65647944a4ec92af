# Functions whose CFI is wrong (NAME__wrong), each with a twin whose CFI is right. NAME__doubted: only doubtful paths find
# it wrong.

.include "described.inc"

  .text
begin push__right
  push %rbx
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end push__right
# glibc's mpn functions are like this.
begin push__wrong
  push %rbx
  pop %rbx
  ret
end push__wrong
begin late__right
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  test %edi,%edi
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end late__right
# LLVM moves stack adjustments away from their CFI.
begin late__wrong
  sub $24,%rsp
  test %edi,%edi
  .cfi_def_cfa_offset 32
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end late__wrong
# OpenSSL's AES-XTS is like this.
begin align__wrong
  mov %rsp,%rax
  and $-64,%rsp
  sub $64,%rsp
  mov %rax,%rsp
  ret
end align__wrong
begin align__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  and $-64,%rsp
  leave
  .cfi_def_cfa %rsp,8
  ret
end align__right
begin frame_pointer__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  pop %rbp
  .cfi_restore %rbp
  .cfi_def_cfa_offset 8
  ret
end frame_pointer__right
begin frame_pointer__wrong
  .cfi_offset %rbp,-16
  push %rbp
  .cfi_def_cfa_offset 16
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
end frame_pointer__wrong
begin lost_frame_pointer__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  xor %ebp,%ebp
  pop %rbp
  .cfi_restore %rbp
  .cfi_def_cfa_offset 8
  ret
end lost_frame_pointer__right
begin lost_frame_pointer__wrong
  push %rbp
  .cfi_def_cfa_offset 16
  xor %ebp,%ebp
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
end lost_frame_pointer__wrong
# GCC's frames with an aligned stack: FP is popped, and CFI still reads it where rbp leads.
begin popped_frame_pointer__wrong
  lea 8(%rsp),%r10
  .cfi_def_cfa %r10,0
  and $-32,%rsp
  push -8(%r10)
  push %rbp
  mov %rsp,%rbp
  .cfi_escape 0x10,0x06,0x02,0x76,0x00  # FP at *(rbp+0)
  push %r10
  .cfi_escape 0x0f,0x03,0x76,0x78,0x06  # CFA at *(rbp-8)
  pop %r10
  .cfi_def_cfa %r10,0
  pop %rbp
  lea -8(%r10),%rsp
  .cfi_def_cfa %rsp,8
  ret
end popped_frame_pointer__wrong
begin popped_frame_pointer__right
  lea 8(%rsp),%r10
  .cfi_def_cfa %r10,0
  and $-32,%rsp
  push -8(%r10)
  push %rbp
  mov %rsp,%rbp
  .cfi_escape 0x10,0x06,0x02,0x76,0x00  # FP at *(rbp+0)
  push %r10
  .cfi_escape 0x0f,0x03,0x76,0x78,0x06  # CFA at *(rbp-8)
  pop %r10
  .cfi_def_cfa %r10,0
  pop %rbp
  .cfi_restore %rbp
  lea -8(%r10),%rsp
  .cfi_def_cfa %rsp,8
  ret
end popped_frame_pointer__right
# V8's JSEntry is like this: FP is popped, and CFI still counts the CFA from it.
begin popped_base__wrong
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  pop %rbp
  ret
end popped_base__wrong
begin popped_base__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  pop %rbp
  .cfi_def_cfa %rsp,8
  ret
end popped_base__right
# 5. A callee whose code is not known may remove its arguments, where a frame pointer gives the CFA. In LLVM's libclang-cpp
# `rbp` leads to a variable, and SP alone gives it.
begin argument__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  push %rsi
  .cfi_def_cfa_offset 24
  call *%rdi
  xor %eax,%eax
  .cfi_def_cfa_offset 16
  inc %eax
  leave
  .cfi_def_cfa_offset 8
  ret
end argument__right
begin argument__wrong
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  sub $16,%rsp
  .cfi_def_cfa_offset 32
  mov %rsp,%rbp
  call *%rdi
  push %rsi
  xor %eax,%eax
  .cfi_def_cfa_offset 40
  add $24,%rsp
  .cfi_def_cfa_offset 16
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
end argument__wrong
# FP may be left changed: then CFI of FP is not judged.
begin changed_frame_pointer__right
  mov %rdi,%rbp
  ret
end changed_frame_pointer__right
begin changed_frame_pointer__wrong
  mov %rdi,%rbp
  push %rbx
  pop %rbx
  ret
end changed_frame_pointer__wrong

# 5. A callee may leave FP changed: one that is proved before, one that is proved later, and one that ends by a jump to such
# a function, which is proved before or later.
.macro calls name:req, callee:req
begin \name\()__wrong
  push %rbp
  .cfi_def_cfa_offset 16
  call \callee
  pop %rbp
  .cfi_def_cfa_offset 8
  ret
end \name\()__wrong
begin \name\()__right
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  call \callee
  pop %rbp
  .cfi_restore %rbp
  .cfi_def_cfa_offset 8
  ret
end \name\()__right
.endm
  calls callee_before, changed_frame_pointer__right
begin jumps_back
  jmp changed_frame_pointer__right
end jumps_back
  calls tail_before, jumps_back
  calls callee_later, changed_later
begin jumps_on
  jmp changed_later
end jumps_on
  calls tail_later, jumps_on
begin changed_later
  mov %rdi,%rbp
  ret
end changed_later
# 12. What no path reaches is not compared.
begin reached__wrong
  test %edi,%edi
  je 1f
  ret
1:.cfi_def_cfa_offset 64
  ret
end reached__wrong
begin reached__right
  ret
  .cfi_def_cfa_offset 64
  ret
end reached__right
# CFI that changes right after a call is another part of the function: the call does not return.
begin after_call__wrong
  test %edi,%edi
  je 1f
  sub $8,%rsp
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  nop
  .cfi_def_cfa_offset 8
  add $8,%rsp
1:ret
end after_call__wrong
begin after_call__right
  test %edi,%edi
  je 1f
  sub $8,%rsp
  .cfi_def_cfa_offset 16
  call elsewhere@plt
  .cfi_def_cfa_offset 8
  ret
1:ret
end after_call__right
# 5. What a pointer leads to may remove its arguments. A return after leave does not prove that it has not.
.macro removed name:req, callee:vararg
begin \name
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp,-16
  mov %rsp,%rbp
  push %rdi
  .cfi_def_cfa_offset 24
  call \callee
  mov %eax,%edx
  .cfi_def_cfa_offset 16
  inc %eax
  leave
  .cfi_def_cfa %rsp,8
  ret
end \name
.endm
  removed arguments__right, *%rdx
  removed arguments__wrong, push__right
# 1. CFI of a part that is called may count from the frame around it. It is judged if it begins as an entry's does.
begin calls_parts
  push %rbx
  .cfi_def_cfa_offset 16
  call part__right
  call part__wrong
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
part__right:
  .cfi_def_cfa_offset 24
  inc %eax
  ret
  .cfi_def_cfa_offset 8
part__wrong:
  push %rbx
  pop %rbx
  ret
end calls_parts
# GCC makes no code for a default that cannot happen: its label is that of whatever is there.
begin default__right
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  cmp $4,%edi
  ja another.cold
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end default__right
begin default__wrong
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  cmp $4,%edi
  ja 1f
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
1:
  .cfi_def_cfa_offset 64
  ud2
end default__wrong
# Entries of a table that no number leads to hold that label as well, as in Mesa's drivers.
.macro through_table name
begin \name
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  cmp $1,%edi
  ja another.cold
  mov %edi,%eax
  lea .Ltable_\name(%rip),%rdx
  movslq (%rdx,%rax,4),%rax
  add %rdx,%rax
  jmp *%rax
.Lcase_\name:
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
.Lown_\name:
  .cfi_def_cfa_offset 64
  ud2
end \name
.endm
.macro table name, entry
.Ltable_\name:
  .long .Lcase_\name - .Ltable_\name, \entry - .Ltable_\name
.endm
  through_table hole__right
  through_table hole__wrong
# GCC 16 saves rbp by `mov` where it needs it, also before a last call. The call before that does not return, but seems to.
.macro saves_late name, offset
begin \name
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  test %edi,%edi
  je 1f
  js 2f
  mov %rbp,8(%rsp)
  .cfi_offset %rbp,-24
  xor %ebp,%ebp
  test %esi,%esi
  js 3f
  mov %rdi,%rbp
3:call elsewhere@plt
1:.cfi_restore %rbp
  mov %rbp,(%rsp)
  .cfi_offset %rbp,\offset
  mov %rdi,%rbp
  call __stack_chk_fail@plt
2:.cfi_restore %rbp
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end \name
.endm
  saves_late saved_late__right, -32
  saves_late saved_late__wrong, -16
# After a call that may not return, CFI of another part is no proof that the call returns; where it does not change at once,
# it is in doubt.
.macro before_part name, first, second
begin \name
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  je 1f
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
1:.cfi_def_cfa_offset 16
  sub $16,%rsp
  .cfi_def_cfa_offset 32
  \first
  \second
  .cfi_def_cfa_offset 16
  mov %rax,%rdi
  call abort@plt
end \name
.endm
  before_part other_part__right, nop, "call elsewhere@plt"
  before_part other_part__wrong, nop, nop
  before_part later_part__doubted, "call elsewhere@plt", nop
  before_part later_part__wrong, nop, nop
# GCC makes no code for a part that cannot be reached, and the jump there leads to another function's.
begin empty_part__doubted
  test %edi,%edi
  je .Lpart
  ret
end empty_part__doubted
begin empty_part__wrong
  push %rbx
  .cfi_def_cfa_offset 16
  test %edi,%edi
  je 1f
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
1:pop %rbx
  ret
end empty_part__wrong
begin has_part
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  test %edi,%edi
  jne .Lpart
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end has_part
begin part_of_another.cold
  .cfi_def_cfa_offset 32
.Lpart:
  mov %edi,%esi
  ud2
end part_of_another.cold
begin another.cold
  .cfi_def_cfa_offset 64
.Lanother_part:
  nop
  ud2
end another.cold
  .section .rodata
  .p2align 2
  table hole__right, .Lanother_part
  table hole__wrong, .Lown_hole__wrong
