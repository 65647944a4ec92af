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
