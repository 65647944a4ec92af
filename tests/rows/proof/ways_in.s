# Functions that are refused. CFI is wrong on the way in to NAME__wrong, where the entry alone counts, and right in its twin.

.include "described.inc"

  .text
# GHC's StgRun is like this: Haskell's code comes back to a label.
begin leads_out__wrong
  sub $24,%rsp
  mov %rdi,%rax
  jmp *%rax
  add $24,%rsp
  ret
end leads_out__wrong
begin leads_out__right
  sub $24,%rsp
  .cfi_def_cfa_offset 32
  mov %rdi,%rax
  jmp *%rax
  add $24,%rsp
  .cfi_def_cfa_offset 8
  ret
end leads_out__right

# The kernel makes the frame that such CFI describes.
begin signal_frame__right
  .cfi_signal_frame
  sub $24,%rsp
  jmp *%rax
end signal_frame__right

# An interpreter's code is described as one function, in whose frame its entries do not begin. A part that is called in that
# frame may count from its CFA.
begin interpreter__right
  sub $72,%rsp
  .cfi_def_cfa_offset 80
  call part__right
  jmp *%rax
  .globl entry__wrong, part__right
  .type entry__wrong,@function
entry__wrong:
  push %rbx
  jmp *%rdi
  .type part__right,@function
part__right:
  push %rbx
  jmp *%rdi
end interpreter__right
begin caller__right
  sub $8,%rsp
  .cfi_def_cfa_offset 16
  call entry__wrong
  add $8,%rsp
  .cfi_def_cfa_offset 8
  ret
end caller__right
