# Functions whose listings the checker's test falsifies.

.include "described.inc"

  .text
begin frame
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  push %rbx
  .cfi_offset %rbx, -24
  sub $24,%rsp
  test %edi,%edi
  je 1f
  call callee
  mov %rax,-32(%rbp)
1:mov -8(%rbp),%rbx
  leave
  .cfi_def_cfa %rsp, 8
  ret
end frame
begin callee
  xor %eax,%eax
  ret
end callee

begin aligned
  lea 8(%rsp),%r10
  .cfi_def_cfa %r10, 0
  and $-32,%rsp
  push -8(%r10)
  push %rbp
  mov %rsp,%rbp
  .cfi_escape 0x10,6,2,0x76,0
  push %r10
  .cfi_escape 0x0f,3,0x76,0x78,6
  sub $40,%rsp
  vmovdqa %ymm0,-48(%rbp)
  mov -8(%rbp),%r10
  .cfi_def_cfa %r10, 0
  leave
  lea -8(%r10),%rsp
  .cfi_def_cfa %rsp, 8
  ret
end aligned

begin probes
  lea -0x20000(%rsp),%r11
  .cfi_def_cfa %r11, 0x20008
1:sub $0x1000,%rsp
  orq $0,(%rsp)
  cmp %r11,%rsp
  jne 1b
  .cfi_def_cfa_register %rsp
  add $0x20000,%rsp
  .cfi_def_cfa_offset 8
  ret
end probes

begin table
  push %rbx
  .cfi_def_cfa_offset 16
  cmp $1,%edi
  ja 3f
  lea entries(%rip),%rdx
  mov %edi,%edi
  movslq (%rdx,%rdi,4),%rax
  add %rdx,%rax
  jmp *%rax
1:xor %eax,%eax
2:nop
3:pop %rbx
  .cfi_def_cfa_offset 8
  jmp callee
end table
  .section .rodata
entries:
  .long 1b-entries, 2b-entries

  .text
# Capstone knows neither of these, which go on in the next function.
begin falls
  vpunpcklbw %zmm5,%zmm21,%zmm4
  vpmaddubsw %zmm4,%zmm28,%zmm4
  .cfi_endproc
begin fallen_to
  ret
end fallen_to
