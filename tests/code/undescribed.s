# Functions without CFI. NAME__REASON: the proof must refuse it for that reason; NAME__proved: prove it.

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

# Tables without a bound are read by their contents, if that is not forbidden.
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
